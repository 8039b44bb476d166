/** For tests: results made of a few figures. */
import type { Phase, ResultFile, Run } from "../../bench/measure/result.ts";
import { schemaVersion } from "../../bench/measure/result.ts";

export function samplePhase(words: Partial<Phase> = {}): Phase {
  return {
    name: "rollout in place",
    pods: 100,
    tookMs: 2_000,
    firstTouchedMs: 20,
    firstReadyMs: 250,
    clocks: {
      ready: { source: "watch", count: 100, p50: 1_000, p90: 1_800, p99: 1_990, max: 2_000 },
      outOfService: { source: "watch", count: 100, p50: 400, p90: 500, p99: 600, max: 650 },
      gateToImage: { source: "watch", count: 100, p50: 20, p90: 30, p99: 40, max: 45 },
    },
    readyMs: [250, 1_000, 2_000],
    requests: {
      source: "manager",
      total: 300,
      perPod: 3,
      by: { "PATCH pods": 100, "PATCH pods/status": 200 },
      bench: { "PATCH pods/status": 100 },
    },
    wire: { readBytes: 1_000_000, writtenBytes: 500_000, perPod: 15_000 },
    cpuSeconds: 0.4,
    cpuMsPerPod: 4,
    residentMb: { before: 100, after: 110, peak: 120 },
    podEventsPerPod: 5,
    series: {
      atMs: [0, 1_000, 2_000],
      residentMb: [100, 120, 110],
      queueDepth: [0, null, 1],
      pods: {
        ready: [100, 90, 100],
        updating: [0, 10, 0],
        starting: [0, 0, 0],
        pending: [0, 0, 0],
        terminating: [0, 0, 0],
        finished: [0, 0, 0],
      },
      unavailable: [0, 10, 0],
    },
    budget: {
      maxUnavailable: 10,
      workloads: 1,
      mostUnavailable: 10,
      podSecondsOut: 40,
      violations: 0,
      examples: [],
    },
    facts: {},
    benchBusy: 0.5,
    ...words,
  };
}

export function sampleRun(phases: readonly Phase[], words: Partial<Run> = {}): Run {
  return {
    scenario: "rollout",
    label: "refit",
    startedAt: "2026-01-01T00:00:00.000Z",
    pods: 100,
    nodes: 2,
    seed: 1,
    settings: { start: "200" },
    server: { version: "v1.34.4", sandbox: false },
    manager: { pid: 7, own: true, metrics: true },
    phases: [...phases],
    ...words,
  };
}

export function sampleFile(runs: readonly Run[]): ResultFile {
  return {
    schema: "refit-bench",
    schemaVersion,
    tool: { version: "0.1.0", commit: "abc" },
    machine: { cpus: 2, memoryGb: 24, system: "linux", node: "v24" },
    runs: [...runs],
  };
}
