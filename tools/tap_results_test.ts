import t from "tap";
import { countsIn, failuresIn, fileIn } from "./tap_results.ts";

const run = `TAP version 14
1..3
# Subtest: kube/queue_test.ts
    # Subtest: delays
        # Subtest: ties
            not ok 1 - in order of arrival
              ---
              diff: |
                -2
                +1
              ...
            ok 2 - should be equal
            1..2
        not ok 1 - ties # time=43.361ms
          ---
          at:
            lineNumber: 3
          ...
        ok 2 - not today # SKIP needs a runtime
        not ok 3 - some day # TODO later
        1..3
    not ok 1 - delays # time=76.666ms
    1..1
not ok 1 - kube/queue_test.ts # time=96.68ms
# Subtest: kube/fine_test.ts
    ok 1 - should be equal
    1..1
ok 2 - kube/fine_test.ts # time=96.68ms
not ok 3 - kube/hangs_test.ts
  ---
  signal: SIGKILL
  ...
# { total: 6, pass: 2, fail: 2, skip: 1, todo: 1 }
`;

t.test("a failure is named from its file to its assertion, once, with what is known of it", async (t) => {
  t.same(failuresIn(run), [
    {
      path: ["kube/queue_test.ts", "delays", "ties", "in order of arrival"],
      details: ["diff: |", "  -2", "  +1"],
    },
    { path: ["kube/hangs_test.ts"], details: ["signal: SIGKILL"] },
  ]);
});

t.test("a test that fails with no assertion in it is named itself", async (t) => {
  const tap =
    "# Subtest: a_test.ts\n    # Subtest: late\n        1..0\n    not ok 1 - late\nnot ok 1 - a_test.ts\n";
  t.same(failuresIn(tap), [{ path: ["a_test.ts", "late"], details: [] }]);
});

t.test("nothing failed", async (t) => {
  t.same(failuresIn("# Subtest: a_test.ts\n    ok 1 - fine\n    1..1\nok 1 - a_test.ts\n"), []);
});

t.test("counts are those of the closing comment", async (t) => {
  t.same(countsIn(run), { passed: 2, failed: 2, skipped: 2 });
  t.same(countsIn("no comment"), { passed: 0, failed: 0, skipped: 0 });
});

t.test("files are named as they end, with their time", async (t) => {
  t.same(
    run.split("\n").flatMap((line) => fileIn(line) ?? []),
    [
      { path: "kube/queue_test.ts", passed: false, seconds: 0.09668 },
      { path: "kube/fine_test.ts", passed: true, seconds: 0.09668 },
      { path: "kube/hangs_test.ts", passed: false, seconds: 0 },
    ],
  );
});
