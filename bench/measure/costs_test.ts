import t from "tap";
import { costsBetween, type ProcessSpent } from "./costs.ts";

type Spent = Parameters<typeof costsBetween>[0];

const process = (cpuSeconds: number, residentMb: number, requests: number): ProcessSpent => ({
  sample: { cpuSeconds, residentMb, io: { readBytes: requests * 100, writtenBytes: requests * 10 } },
  metrics: `refit_client_requests_total{verb="PATCH",resource="pods",code="200"} ${requests}\n`,
});

const spent = (residentMb: number, ...processes: readonly [pid: number, spent: ProcessSpent][]): Spent => ({
  processes: new Map(processes),
  residentMb,
  server: undefined,
  bench: {},
});

const phase = { pods: 10, kinds: [], peakMb: 250 };

t.test("replicas are told of one by one and together, one that died with what it had spent", async (t) => {
  const before = spent(200, [1, process(10, 100, 1_000)], [2, process(20, 100, 2_000)]);
  const after = spent(120, [1, process(11, 120, 1_020)], [2, process(20.5, 110, 2_010)]);
  const costs = costsBetween(before, after, phase);
  t.equal(costs.cpuSeconds, 1.5);
  t.equal(costs.cpuMsPerPod, 150);
  t.match(costs.requests, { source: "manager", total: 30, perPod: 3, by: { "PATCH pods": 30 } });
  t.same(costs.wire, { readBytes: 3_000, writtenBytes: 300, perPod: 330 });
  t.same(costs.residentMb, { before: 200, after: 120, peak: 250 });
  t.same(costs.replicas, [
    { cpuSeconds: 1, residentMb: 120, requests: 20 },
    { cpuSeconds: 0.5, residentMb: 110, requests: 10 },
  ]);
});

t.test("a process that took another's place had spent nothing before", async (t) => {
  const costs = costsBetween(
    spent(300, [1, process(10, 300, 1_000)]),
    spent(90, [2, process(2, 90, 5)]),
    phase,
  );
  t.equal(costs.cpuSeconds, 2);
  t.equal(costs.requests.total, 5);
  t.equal(costs.replicas, undefined, "a single one is no replica");
});
