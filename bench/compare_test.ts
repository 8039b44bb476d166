import t from "tap";
import { seededRandom } from "../kube/index.ts";
import { samplePhase, sampleRun } from "../testkit/bench/result_builder.ts";
import { compareRuns, worseThan } from "./compare.ts";
import { comparisonText, intervalHint } from "./report/comparison_table.ts";

const runs = (times: readonly number[], words: object = {}) =>
  times.map((tookMs) => sampleRun([samplePhase({ tookMs, ...words })]));

t.test("ratios of means with intervals, the same for the same seed", async (t) => {
  const before = runs([4_000, 4_200, 3_800]);
  const after = runs([2_000, 2_100, 1_900]);
  const [compared] = compareRuns(before, after, seededRandom(1));
  t.same(compared?.runs, [3, 3]);
  const took = compared?.figures.find(({ figure }) => figure === "change to last pod arrived");
  t.equal(took?.ratio, 0.5);
  t.ok((took?.interval?.low ?? 0) >= 1_900 / 4_200 && (took?.interval?.high ?? 1) <= 2_100 / 3_800);
  t.same(compareRuns(before, after, seededRandom(1)), [compared]);
  t.match(comparisonText([...compareRuns(before, after, seededRandom(1))]), /0\.50x .*better/);
});

t.test("one run a side has a ratio, no interval, and says so", async (t) => {
  const compared = compareRuns(runs([4_000]), runs([2_000]), seededRandom(1));
  t.equal(compared[0]?.figures[0]?.interval, undefined);
  t.match(intervalHint(compared), /--repeat/);
  t.equal(intervalHint(compareRuns(runs([1, 2]), runs([1, 2]), seededRandom(1))), undefined);
});

t.test("only equal scenarios, sizes and phases are compared", async (t) => {
  const other = runs([1]).map((run) => ({ ...run, pods: 5_000 }));
  t.same(compareRuns(runs([1]), other, seededRandom(1)), []);
  const [unserved] = compareRuns(
    runs([1], { requests: { source: "none", total: 0, perPod: 0, by: {}, bench: {} } }),
    runs([1]),
    seededRandom(1),
  );
  t.notOk(
    unserved?.figures.some(({ figure }) => figure === "requests a pod"),
    "what a side does not serve is left out",
  );
});

t.test("a check fails for what is worse beyond chance and threshold", async (t) => {
  const before = runs([2_000, 2_050, 1_950]);
  const compared = (times: readonly number[]) =>
    worseThan(compareRuns(before, runs(times), seededRandom(1)), 1.25).map(({ figure }) => figure);
  t.same(compared([3_000, 3_100, 2_900]), ["change to last pod arrived"]);
  t.same(compared([2_200, 2_300, 2_250]), [], "worse, but within the threshold");
  t.same(compared([1_000, 5_000, 2_000]), [], "over the threshold on average, but one of three runs was odd");
  const touched = before.map((run) => ({
    ...run,
    phases: run.phases.map((p) => ({ ...p, firstTouchedMs: 9_000 })),
  }));
  t.same(worseThan(compareRuns(before, touched, seededRandom(1)), 1.25), [], "single events are no gate");
});
