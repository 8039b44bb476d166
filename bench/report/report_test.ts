import t from "tap";
import { seededRandom } from "../../kube/index.ts";
import { sampleFile, samplePhase, sampleRun } from "../../testkit/bench/result_builder.ts";
import { compareRuns } from "../compare.ts";
import { resultPage } from "./page.ts";
import { alignTable, figureTable, tableOf } from "./table.ts";
import { bytes, duration } from "./words.ts";

const limit = {
  rates: [{ patch: "metadata", inFlight: 8, perSecond: 400, p50: 20, p99: 50 }],
  writesPerSecond: 400,
};

t.test("a table of phases side by side", async (t) => {
  const create = samplePhase({ name: "create", facts: { "only here": 1 } });
  const table = tableOf(sampleRun([create, samplePhase()], { limit }));
  t.match(table, /^rollout: 100 pods on 2 hollow nodes, seed 1; refit; Kubernetes v1\.34\.4$/m);
  t.match(table, /change to last pod arrived +2000 ms +2000 ms/);
  t.match(table, /^not served by this manager: event to reconcile start, reconcile duration, /m);
  t.notMatch(table, /^event to reconcile start/m, "no row without a figure");
  t.match(
    table,
    /pod writes a second \(of the limit\) +250 writes\/s \(63 %\)/,
    "500 events in 2 s of 400 a second",
  );
  t.match(table, /only here +1 +–$/m);
  t.notMatch(table, /VIOLATED/);
  const names = figureTable(sampleRun([samplePhase(), create])).rows.map(([name]) => name);
  t.equal(names.indexOf("only here") + 1, names.indexOf("bench busy"), "stands where its phase has it");
});

t.test("violations are not to be overlooked", async (t) => {
  const examples = ["w had 12 pods unavailable, 10 are allowed"];
  const budget = {
    maxUnavailable: 10,
    workloads: 1,
    mostUnavailable: 12,
    podSecondsOut: 1,
    violations: 1,
    examples,
  };
  const run = sampleRun([samplePhase({ budget })]);
  t.match(tableOf(run), /BUDGET VIOLATED\n {2}w had 12 pods unavailable, 10 are allowed/);
  t.match(await resultPage([sampleFile([run])]), /class="alarm">Budget violated: w had 12 pods/);
});

t.test("the page needs nothing else and lets no result break out of its place", async (t) => {
  const label = `</script><img src=x onerror="alert(1)">`;
  const run = sampleRun([samplePhase()], { label, limit });
  const compared = compareRuns([run, run], [run, run], seededRandom(1));
  const page = await resultPage([sampleFile([run])], compared);
  t.notMatch(page, /<(?:link|img|iframe)\b/, "nothing is loaded, nothing is injected");
  t.notMatch(page, /(?:src|href)="/);
  t.match(page, /var uPlot=/, "uPlot is within");
  t.match(page, /95 % interval/);
  t.match(page, /prefers-color-scheme: dark/);
  const data = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page)?.[1] ?? "";
  const parsed: unknown = JSON.parse(data);
  t.match(parsed, { runs: [{ label, phases: [{ name: "rollout in place", maxUnavailable: 10 }] }] });
  const scripts = [...page.matchAll(/<script>\n([\s\S]*?)\n<\/script>/g)].map((match) => match[1] ?? "");
  t.equal(scripts.length, 2);
  for (const script of scripts) t.doesNotThrow(() => new Function(script), "inlining kept the script whole");
});

t.test("figures in words", async (t) => {
  t.same([0.5, 12.34, 350, 12_345].map(duration), ["0.50 ms", "12.3 ms", "350 ms", "12.3 s"]);
  t.equal(duration(undefined), "-");
  t.same([12, 1_234, 5_600_000].map(bytes), ["12 B", "1.2 kB", "5.6 MB"]);
  t.equal(
    alignTable([
      ["a", "1"],
      ["bcd", "22"],
    ]),
    "a     1\nbcd  22",
  );
});
