/** The agent's own metrics (spec agent 8). */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { CriCall } from "./cri/client.ts";

export type KillReason = "crr" | "meta" | "swap" | "liveness";

export interface AgentMetrics {
  criCall(call: CriCall): void;
  pulled(result: "succeeded" | "failed" | "present", seconds: number): void;
  killed(reason: KillReason, result: string): void;
  probed(result: string): void;
  runtime(name: string, version: string, ready: boolean): void;
}

const callBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const pullBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

export function createAgentMetrics(registry: Registry): AgentMetrics {
  const { calls, pulls, pullSeconds, kills, probes, runtime } = instruments([registry]);
  return {
    criCall: ({ method, code, seconds }) => calls.observe({ method, code }, seconds),
    pulled(result, seconds) {
      pulls.inc({ result });
      if (result !== "present") pullSeconds.observe(seconds);
    },
    killed: (reason, result) => kills.inc({ reason, result }),
    probed: (result) => probes.inc({ result }),
    runtime(name, version, ready) {
      runtime.reset();
      runtime.set({ name, version }, ready ? 1 : 0);
    },
  };
}

function instruments(registers: Registry[]) {
  return {
    calls: new Histogram({
      name: "kruise_daemon_cri_request_duration_seconds",
      help: "Duration of calls to the container runtime by method and result.",
      labelNames: ["method", "code"],
      buckets: callBuckets,
      registers,
    }),
    pulls: new Counter({
      name: "kruise_daemon_image_pull_total",
      help: "Finished image pulls by result.",
      labelNames: ["result"],
      registers,
    }),
    pullSeconds: new Histogram({
      name: "kruise_daemon_image_pull_duration_seconds",
      help: "Duration of image pulls, retries included.",
      buckets: pullBuckets,
      registers,
    }),
    kills: new Counter({
      name: "kruise_daemon_container_kill_total",
      help: "Containers stopped by the agent.",
      labelNames: ["reason", "result"],
      registers,
    }),
    probes: new Counter({
      name: "kruise_daemon_probe_total",
      help: "Probes run by result.",
      labelNames: ["result"],
      registers,
    }),
    runtime: new Gauge({
      name: "kruise_daemon_runtime_ready",
      help: "1 while the container runtime answers.",
      labelNames: ["name", "version"],
      registers,
    }),
  };
}
