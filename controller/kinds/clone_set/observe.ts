/** What a plan of a CloneSet sees of the cluster. */
import type { CloneSet } from "../../../crds/index.ts";
import { compileSelector, keyOf } from "../../../kube/core/index.ts";
import { ownerKeyOf } from "../../plan/owners.ts";
import {
  type ClusterReader,
  type ControllerState,
  justStarted,
  type WritesInFlight,
} from "../../rollout/cluster_reader.ts";
import { observeRollout } from "../../rollout/observe.ts";
import { CloneIndex } from "./classify.ts";
import type { CloneSetObserved } from "./state.ts";
import type { CloneSetOptions } from "./strategy.ts";

/** A set's index is made by its first pass, and hears of every change from then on. */
export function observeCloneSet(
  set: CloneSet,
  reader: ClusterReader,
  options: Pick<CloneSetOptions, "preDownload">,
  { writes, indexes }: ControllerState<CloneIndex> = justStarted,
): CloneSetObserved {
  const { namespace = "" } = set.metadata;
  const owner = ownerKeyOf(set.metadata);
  return {
    ...observeRollout(set, compileSelector(set.spec.selector), reader, writes, options),
    pods: indexes.of(owner, () => newIndex(set, reader, writes)),
    claims: [...reader.owned.claims.of(owner)],
    claimNamed: (name) => reader.claims.get(keyOf({ namespace, name })),
    podNamed: (name) => reader.pods.get(keyOf({ namespace, name })),
    creationRoom: writes.creationRoom(owner),
    nodeLabels: (node) => reader.nodes.get(node)?.labels,
  };
}

function newIndex(
  { metadata }: CloneSet,
  { pods, owned }: Pick<ClusterReader, "pods" | "owned">,
  writes: Pick<WritesInFlight, "pending">,
): CloneIndex {
  const { uid = "", namespace = "" } = metadata;
  const owner = ownerKeyOf(metadata);
  return new CloneIndex({
    pods: () => owned.pods.of(owner),
    pod: (name) => {
      const pod = pods.get(keyOf({ namespace, name }));
      return pod?.controller?.uid === uid ? pod : undefined;
    },
    inFlight: () => writes.pending(owner),
  });
}
