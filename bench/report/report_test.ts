import t from "tap";
import { seededRandom } from "../../kube/index.ts";
import { sampleFile, samplePhase, sampleRun } from "../../testkit/bench/result_builder.ts";
import { compareRuns } from "../compare.ts";
import { resultPage } from "./page.ts";
import { plotGroups } from "./plots.ts";
import { sizePlots } from "./size_plots.ts";
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

t.test("replicas are shown one by one", async (t) => {
  const replicas = [
    { cpuSeconds: 1.25, residentMb: 120, requests: 200 },
    { cpuSeconds: 0.5, residentMb: 110, requests: 100 },
  ];
  const table = tableOf(sampleRun([samplePhase(), samplePhase({ replicas })]));
  t.match(table, /^CPU of each replica +– +1\.25 \/ 0\.50 s$/m);
  t.match(table, /^memory of each, at its end +– +120 MB \/ 110 MB$/m);
  t.match(table, /^requests of each +– +200 \/ 100$/m);
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
  t.notMatch(page, /<(?:img|iframe)\b/, "nothing is injected");
  for (const [, address = ""] of page.matchAll(/(?:src|href)="([^"]*)"/g)) t.match(address, /^data:/);
  for (const [tag] of page.matchAll(/<(?:script|link)(?! type="application\/json")[^>]*>/g))
    t.match(tag, / nonce="/);
  t.match(page, /content="default-src 'none'; script-src 'nonce-/);
  t.match(page, /95 % interval/);
  const data = /<script type="application\/json" id="plot-data">(.*?)<\/script>/s.exec(page)?.[1] ?? "";
  t.match(JSON.parse(data), [
    { place: "plots-run-0", plots: [{ series: [{ label: "rollout in place" }] }] },
    { place: "plots-run-0-phase-0", hasGrid: true },
  ]);
});

t.test("what is plotted of a phase", async (t) => {
  const [, group] = plotGroups([sampleRun([samplePhase()])]);
  const [states, out, memory] = group?.plots ?? [];
  t.strictSame(
    states?.series.map(({ label, points }) => [label, points]),
    [
      [
        "ready",
        [
          [0, 100],
          [1, 90],
          [2, 100],
        ],
      ],
      [
        "updating",
        [
          [0, 0],
          [1, 10],
          [2, 0],
        ],
      ],
    ],
    "states that no pod had are left out",
  );
  t.match(out?.series, [{ label: "out of service" }, { label: "budget", form: "limit", points: [[0, 10]] }]);
  t.strictSame(
    memory?.series[1]?.points,
    [
      [0, 0],
      [2, 1],
    ],
    "what was not measured is no point",
  );
});

t.test("a new revision parts the pods that are ready", async (t) => {
  const { series } = samplePhase();
  const [, group] = plotGroups([
    sampleRun([samplePhase({ series: { ...series, readyAtNew: [0, 30, 100] } })]),
  ]);
  const [states] = group?.plots ?? [];
  t.strictSame(
    states?.series.map(({ label, points }) => [label, points.map(([, value]) => value)]),
    [
      ["ready, new revision", [0, 30, 100]],
      ["updating", [0, 10, 0]],
      ["ready, old revision", [100, 60, 0]],
    ],
  );
});

t.test("curves over sizes, of runs at several of them", async (t) => {
  const at = (pods: number, tookMs: number) => sampleRun([samplePhase({ tookMs })], { pods });
  t.strictSame(sizePlots([at(100, 1_000), at(100, 3_000)], "rollout"), [], "one size is no curve");
  const [took] = sizePlots([at(1_000, 8_000), at(100, 1_000), at(100, 3_000)], "rollout");
  t.match(took, { x: { from: 100, to: 1_000, ticks: [100, 1_000] } });
  t.strictSame(
    took?.series[0]?.points,
    [
      [100, 2],
      [1_000, 8],
    ],
    "runs of one size are averaged",
  );
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
