/** What becomes of the containers of a job that goes. Pure. Spec: containers 5.4, rule 1; 5.6. */
import type { EphemeralJob } from "../../../crds/index.ts";
import { counted } from "../../../kube/core/index.ts";
import type { ObservedPod } from "../../native/observed_pod.ts";
import { targetsOf } from "./targets.ts";

const mostNames = 10;

/**
 * Why containers of the job are not removed with it; undefined when none of them runs or is to run. `pods`: those that the
 * selector matches; undefined when they are not watched, so that the status has to do.
 */
export function removalFailure(
  job: EphemeralJob,
  pods: readonly ObservedPod[] | undefined,
): string | undefined {
  const { running = 0, waiting = 0 } = job.status ?? {};
  const names = pods === undefined ? [] : leftRunning(job, pods);
  const count = pods === undefined ? running + waiting : names.length;
  if (count === 0) return undefined;
  const more = count > mostNames ? ", …" : "";
  const shown = names.length === 0 ? "" : ` (${names.slice(0, mostNames).join(", ")}${more})`;
  return `failed to remove ephemeral containers of ${counted(count, "pod")}${shown}: Kubernetes cannot remove any, they run until they end`;
}

function leftRunning(job: EphemeralJob, pods: readonly ObservedPod[]): string[] {
  return targetsOf(job, pods)
    .filter(({ state }) => state === "running" || state === "waiting")
    .map(({ pod }) => pod.name);
}
