import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import t from "tap";
import { golden } from "../../testkit/cli/golden.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { toAnyObject } from "../fields.ts";
import { paintFor } from "../io.ts";
import { createDisplay, podLines } from "./display.ts";
import { compare, type PodView, podView } from "./pod_view.ts";
import { writePrivateFile } from "./private_file.ts";

const plain = paintFor({ isTTY: false, env: {} });
const colour = paintFor({ isTTY: true, env: {} });

function view(index: number, changes: Partial<PodView> = {}): PodView {
  return {
    name: `demo-${index}`,
    uid: `uid-${index}`,
    node: `node${(index % 2) + 1}`,
    ip: `10.0.0.${index}`,
    image: "nginx:1.20",
    revision: "79c667d6cb",
    state: "ready",
    restarts: 0,
    ...changes,
  };
}

t.test("a pod's state is what the rollout waits for", (t) => {
  const pod = (spec: object, conditions: object, more: object = {}) =>
    podView(
      toAnyObject({
        metadata: { name: "p", uid: "u", labels: { "controller-revision-hash": "demo-abc" }, ...more },
        spec: { containers: [{ image: "i" }], ...spec },
        status: {
          conditions: Object.entries(conditions).map(([type, status]) => ({ type, status })),
          containerStatuses: [{ restartCount: 2, state: { running: { startedAt: "x" } } }],
        },
      }),
    );
  t.equal(pod({}, {}).state, "pending");
  t.equal(pod({ nodeName: "n" }, { Ready: "False" }).state, "starting");
  t.equal(pod({ nodeName: "n" }, { Ready: "True", InPlaceUpdateReady: "True" }).state, "ready");
  t.equal(pod({ nodeName: "n" }, { Ready: "False", InPlaceUpdateReady: "False" }).state, "updating");
  t.equal(pod({ nodeName: "n" }, { Ready: "True" }, { deletionTimestamp: "x" }).state, "terminating");
  t.match(pod({}, {}), { revision: "abc", restarts: 2, image: "i" });
  t.end();
});

t.test("what was kept: a recreated pod keeps nothing but perhaps its name", (t) => {
  const before = [view(1), view(2), view(3)];
  const after = [view(1, { restarts: 1 }), view(2, { uid: "other", ip: "10.9.9.9" }), view(9)];
  t.same(compare(before, after), { pods: 3, names: 2, uids: 1, nodes: 2, ips: 1, restarts: 1 });
  t.end();
});

t.test("the table fits the screen, with and without colours", (t) => {
  const pods = Array.from({ length: 12 }, (_, index) =>
    view(index, index % 3 === 0 ? { state: "updating", revision: "68b8b897b7" } : {}),
  );
  const lines = podLines(pods, 8, 100, plain);
  t.equal(lines.length, 8);
  t.equal(`${lines.join("\n")}\n`, golden("pod_table.txt", `${lines.join("\n")}\n`));
  for (const columns of [20, 30, 40, 60]) {
    const all = podLines(pods, 20, columns, colour).map(stripVTControlCharacters);
    for (const line of all) t.ok(line.length <= columns, `${columns}: ${line}`);
    t.match(all[1], /updating +0$/, "state and restarts are on every line");
  }
  t.equal(podLines(pods, 13, 100, plain).length, 13, "no remainder when all fit");
  t.end();
});

t.test("without a terminal progress is a line every two seconds, and the last count", (t) => {
  const clock = testClock();
  const written: string[] = [];
  const io = {
    stdout: { write: (text: string) => written.push(text) },
    stderr: { write: () => true },
    env: {},
    isTTY: false,
    columns: 80,
    rows: 24,
    signal: new AbortController().signal,
  };
  const display = createDisplay(io, plain, { title: "updating", total: 9, clock });
  for (const done of [0, 0, 1, 2]) display.show([], done);
  clock.skip(2_000);
  for (const done of [3, 4, 8]) display.show([], done);
  clock.skip(1_000);
  display.show([], 9);
  display.end();
  clock.skip(10_000);
  t.same(written, ["updating: 0/9\n", "updating: 2/9\n", "updating: 9/9\n"]);
  t.end();
});

t.test("private files: mode 0600, replaced whole, refused with the reason", async (t) => {
  const folder = t.testdir();
  const path = join(folder, "new", "kubeconfig");
  t.equal(await writePrivateFile(path, "one"), path);
  t.equal(statSync(path).mode & 0o777, 0o600);
  chmodSync(path, 0o644);
  await writePrivateFile(path, "two");
  t.equal(readFileSync(path, "utf8"), "two");
  t.equal(statSync(path).mode & 0o777, 0o600);
  writeFileSync(join(folder, "file"), "");
  // A folder that no attempt can make: recursive making of folders would never end here.
  await t.rejects(writePrivateFile("/proc/none/kubeconfig", "x"), { message: /^cannot write \/proc\/none/ });
  await t.rejects(writePrivateFile(join(folder, "file", "kubeconfig"), "x"), {
    message: /a file is in the way.*--kubeconfig-out/,
  });
  t.notOk(existsSync(join(folder, "new", `kubeconfig.${process.pid}.tmp`)));
});
