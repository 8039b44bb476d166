/** What a plan of a WorkloadSpread sees of the cluster. */
import type { WorkloadSpread } from "../../../crds/index.ts";
import type { Node, Pod, Reader } from "../../../kube/index.ts";
import { type AdoptionInput, adoptedPods } from "./adopt.ts";
import type { WorkloadSpreadInput } from "./plan.ts";
import { podsOfWorkload, type SpreadWorkload } from "./target_workload.ts";

export interface SpreadReader extends Pick<AdoptionInput, "wholePod"> {
  /** Of the namespace. */
  readonly pods: Pick<Reader<Pod>, "values">;
  readonly nodes: Pick<Reader<Node>, "get">;
}

/** What takes requests to find out: a renewed plan is made with it. */
export interface WorkloadSpreadObserved {
  readonly workload: SpreadWorkload;
  /** Subsets of pods that were there before the object, by UID. */
  readonly adopted: ReadonlyMap<string, string>;
}

/** Rejects with what `wholePod` does. */
export async function observeWorkloadSpread(
  object: WorkloadSpread,
  workload: SpreadWorkload,
  { pods, nodes, wholePod }: SpreadReader,
): Promise<WorkloadSpreadObserved> {
  const adopted = await adoptedPods({
    object,
    size: workload.size,
    pods: podsOfWorkload(object, workload, pods.values()),
    nodeOf: ({ nodeName }) => (nodeName === "" ? undefined : nodes.get(nodeName)),
    wholePod,
  });
  return { workload, adopted };
}

/** With the pods as they are by now. */
export function workloadSpreadInput(
  object: WorkloadSpread,
  { workload, adopted }: WorkloadSpreadObserved,
  { pods }: Pick<SpreadReader, "pods">,
  time: Pick<WorkloadSpreadInput, "now" | "knownFor">,
): WorkloadSpreadInput {
  const { size, latestVersion } = workload;
  return {
    object,
    size,
    pods: podsOfWorkload(object, workload, pods.values()),
    adopted,
    latestVersion,
    ...time,
  };
}
