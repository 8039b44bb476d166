/** Results for people: one table a run. */
import type { Phase, RolloutResult } from "./rollout.ts";

export function reportOf(result: RolloutResult): string {
  const { create, rollout } = result;
  const rows: [string, string, string][] = [
    [`${result.pods} pods`, "create", "rollout in place"],
    ["request to first pod", seconds(create.firstMs), seconds(rollout.firstMs)],
    ["request to last pod ready", seconds(create.lastReadyMs), seconds(rollout.lastReadyMs)],
    ["pods a second", rate(result.pods, create), rate(result.pods, rollout)],
    ["manager CPU", `${create.cpuSeconds.toFixed(1)} s`, `${rollout.cpuSeconds.toFixed(1)} s`],
    ["manager memory before / after", memory(create), memory(rollout)],
    ["manager memory at its peak", megabytes(create.residentMb.peak), megabytes(rollout.residentMb.peak)],
    ["requests a pod", create.requestsPerPod.toFixed(2), rollout.requestsPerPod.toFixed(2)],
    ["pod events a pod", create.podEventsPerPod.toFixed(2), rollout.podEventsPerPod.toFixed(2)],
    ["most unavailable / budget", "", `${rollout.mostUnavailable} / ${rollout.budget}`],
    ["budget violations", "", String(rollout.budgetViolations)],
    ["pods kept / restarted once", "", `${rollout.keptUid} / ${rollout.restarted}`],
  ];
  const requests = requestRows(create, rollout);
  return [...rows, ...requests]
    .map(([name, a, b]) => `${name.padEnd(34)}${a.padStart(18)}${b.padStart(20)}`)
    .join("\n");
}

function requestRows(create: Phase, rollout: Phase): [string, string, string][] {
  const names = [...new Set([...Object.keys(create.requests), ...Object.keys(rollout.requests)])].sort();
  return names.map((name) => [
    `  ${name}`,
    String(create.requests[name] ?? 0),
    String(rollout.requests[name] ?? 0),
  ]);
}

function seconds(ms: number): string {
  return ms < 0 ? "-" : ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function rate(pods: number, phase: Phase): string {
  return (pods / (phase.lastReadyMs / 1000)).toFixed(0);
}

function megabytes(mb: number): string {
  return `${mb.toFixed(0)} MB`;
}

function memory(phase: Phase): string {
  return `${phase.residentMb.before.toFixed(0)} / ${phase.residentMb.after.toFixed(0)} MB`;
}
