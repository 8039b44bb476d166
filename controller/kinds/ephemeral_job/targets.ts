/** Which pods a job works on, and how its containers fare there. Pure. Spec: containers 5.4, rules 2 and 3. */
import type { EphemeralJob } from "../../../crds/index.ts";
import { textAt } from "../../native/json_fields.ts";
import { isActivePod, type ObservedPod } from "../../native/observed_pod.ts";
import { byText } from "../../rollout/pods/sorted_slots.ts";
import { containersOf, JOB_ID_VARIABLE, type PodState, type Target } from "./model.ts";

/**
 * Pods that have the job's containers, then the oldest, then by name; at most `spec.replicas`. Pods with a container of
 * a wanted name that is not the job's are none: names are given once, and nothing can be removed.
 */
export function targetsOf(job: EphemeralJob, pods: readonly ObservedPod[]): Target[] {
  const names = containerNames(job);
  const targets = pods.flatMap((pod): Target[] => {
    if (!isActivePod(pod)) return [];
    const state = podState(pod, names, job.metadata.uid ?? "");
    return state === undefined ? [] : [{ pod, state }];
  });
  targets.sort(
    (a, b) =>
      Number(a.state === "todo") - Number(b.state === "todo") ||
      byText(a.pod.createdAt, b.pod.createdAt) ||
      byText(a.pod.name, b.pod.name),
  );
  return targets.slice(0, Math.max(0, job.spec.replicas ?? targets.length));
}

function containerNames(job: EphemeralJob): string[] {
  return containersOf(job).map((container) => textAt(container, "name"));
}

/** Undefined: a wanted name belongs to somebody else. */
function podState(pod: ObservedPod, names: readonly string[], jobUid: string): PodState | undefined {
  const own = new Set<string>();
  for (const { name, env } of pod.ephemeralContainers) {
    const isOwn = env[JOB_ID_VARIABLE] === jobUid;
    if (names.includes(name) && !isOwn) return undefined;
    if (isOwn) own.add(name);
  }
  if (own.size === 0) return "todo";
  const runs = pod.ephemeralRuns.filter(({ name }) => own.has(name));
  const failed = runs.some(({ exitCode, waiting }) => {
    return (exitCode ?? 0) !== 0 || waiting === "RunContainerError";
  });
  if (failed) return "failed";
  if (runs.length === own.size && runs.every(({ exitCode }) => exitCode === 0)) return "succeeded";
  return runs.some(({ running }) => running) ? "running" : "waiting";
}
