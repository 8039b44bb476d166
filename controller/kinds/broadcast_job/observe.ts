/** What a plan of a BroadcastJob sees of the cluster. */
import type { BroadcastJob, BroadcastJobStatus } from "../../../crds/index.ts";
import { keyOf } from "../../../kube/core/index.ts";
import { ownerKeyOf } from "../../plan/owners.ts";
import {
  type ClusterReader,
  type ControllerState,
  justStarted,
  type WritesInFlight,
} from "../../rollout/cluster_reader.ts";
import { rememberedByNode } from "../../rollout/pods/remembered_by_node.ts";
import { CREATING } from "../../rollout/writes/pending_pods.ts";
import { TaskIndex } from "./classify.ts";
import { eligibility } from "./node_eligibility.ts";
import type { BroadcastJobObserved } from "./state.ts";
import { broadcastJobStrategyOf } from "./strategy.ts";

interface BroadcastJobState extends ControllerState<TaskIndex> {
  /** Planned last. Default: the stored one. */
  readonly status?: BroadcastJobStatus;
}

export function observeBroadcastJob(
  job: BroadcastJob,
  reader: ClusterReader,
  { writes, indexes, status = job.status ?? {} }: BroadcastJobState = justStarted,
): BroadcastJobObserved {
  const { namespace = "", generation } = job.metadata;
  const owner = ownerKeyOf(job.metadata);
  return {
    job,
    status,
    pods: indexes.of(owner, () => newIndex(job, reader, writes), generation),
    isTaken: (name) =>
      reader.pods.get(keyOf({ namespace, name })) !== undefined ||
      writes.pending(owner).has(`${CREATING}${name}`),
  };
}

function newIndex(
  job: BroadcastJob,
  { owned, nodes }: Pick<ClusterReader, "owned" | "nodes">,
  writes: Pick<WritesInFlight, "pending">,
): TaskIndex {
  const { uid = "" } = job.metadata;
  const owner = ownerKeyOf(job.metadata);
  return new TaskIndex({
    uid,
    restartLimit: broadcastJobStrategyOf(job).restartLimit,
    fits: rememberedByNode(eligibility(job.spec.template)),
    nodes: () => nodes.values(),
    node: (name) => nodes.get(name),
    pods: () => owned.pods.of(owner),
    inFlight: () => writes.pending(owner),
  });
}
