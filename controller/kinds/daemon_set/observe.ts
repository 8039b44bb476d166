/** What a plan of a DaemonSet sees of the cluster. */
import type { DaemonSet } from "../../../crds/index.ts";
import { compileSelector, keyOf } from "../../../kube/core/index.ts";
import { ownerKeyOf } from "../../plan/owners.ts";
import {
  type ClusterReader,
  type ControllerState,
  justStarted,
  type WritesInFlight,
} from "../../rollout/cluster_reader.ts";
import { observeRollout } from "../../rollout/observe.ts";
import { rememberedByNode } from "../../rollout/pods/remembered_by_node.ts";
import { CREATING } from "../../rollout/writes/pending_pods.ts";
import { DaemonIndex } from "./classify.ts";
import { nodeEligibility } from "./eligibility.ts";
import type { FailedPods } from "./failed_pods.ts";
import type { DaemonSetObserved } from "./state.ts";
import { availabilityOf, type DaemonSetOptions } from "./strategy.ts";

interface DaemonSetState extends ControllerState<DaemonIndex> {
  readonly failed: Pick<FailedPods, "waitMs">;
}

/** How often pods failed only a controller knows: for anybody else a failed pod may be replaced at once. */
const noneFailed: DaemonSetState = { ...justStarted, failed: { waitMs: () => 0 } };

export function observeDaemonSet(
  set: DaemonSet,
  reader: ClusterReader,
  options: Pick<DaemonSetOptions, "preDownload">,
  { writes, indexes, failed }: DaemonSetState = noneFailed,
): DaemonSetObserved {
  const { namespace = "", generation } = set.metadata;
  const owner = ownerKeyOf(set.metadata);
  const index = indexes.of(owner, () => newIndex(set, reader, writes), generation);
  return {
    ...observeRollout(set, index.source.selector, reader, writes, options),
    pods: index,
    isTaken: (name) =>
      reader.pods.get(keyOf({ namespace, name })) !== undefined ||
      writes.pending(owner).has(`${CREATING}${name}`),
    failedPodWaitMs: (node) => failed.waitMs(node),
  };
}

function newIndex(
  set: DaemonSet,
  { owned, orphans, nodes }: Pick<ClusterReader, "owned" | "orphans" | "nodes">,
  writes: Pick<WritesInFlight, "pending">,
): DaemonIndex {
  const { metadata, spec } = set;
  const { uid = "", namespace = "" } = metadata;
  const owner = ownerKeyOf(metadata);
  return new DaemonIndex({
    uid,
    namespace,
    selector: compileSelector(spec.selector),
    nodeSelector: availabilityOf(set).nodeSelector,
    eligibility: rememberedByNode(nodeEligibility(spec.template.spec)),
    nodes: () => nodes.values(),
    node: (name) => nodes.get(name),
    pods: () => [...owned.pods.of(owner), ...orphans.podsIn(namespace)],
    inFlight: () => writes.pending(owner),
  });
}
