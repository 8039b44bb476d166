/** What a plan of a StatefulSet sees of the cluster. */
import type { StatefulSet } from "../../../crds/index.ts";
import { compileSelector, keyOf } from "../../../kube/core/index.ts";
import { ownerKeyOf } from "../../plan/owners.ts";
import {
  type ClusterReader,
  type ControllerState,
  justStarted,
  type WritesInFlight,
} from "../../rollout/cluster_reader.ts";
import { observeRollout } from "../../rollout/observe.ts";
import { SetIndex } from "./classify.ts";
import type { StatefulSetObserved } from "./state.ts";
import type { StatefulSetOptions } from "./strategy.ts";

/** Costs what has changed since the index was refreshed last, not what the set owns. */
export function observeStatefulSet(
  set: StatefulSet,
  reader: ClusterReader,
  options: Pick<StatefulSetOptions, "preDownload">,
  { writes, indexes }: ControllerState<SetIndex> = justStarted,
): StatefulSetObserved {
  const { namespace = "" } = set.metadata;
  return {
    ...observeRollout(set, compileSelector(set.spec.selector), reader, writes, options),
    pods: indexes.of(ownerKeyOf(set.metadata), () => newIndex(set, reader, writes)),
    podNamed: (name) => reader.pods.get(keyOf({ namespace, name })),
    claimNamed: (name) => reader.claims.get(keyOf({ namespace, name })),
    isClaimWritten: (name) => writes.isClaimWritten(ownerKeyOf(set.metadata), name),
    creationRoom: writes.creationRoom(ownerKeyOf(set.metadata)),
  };
}

function newIndex(
  { metadata }: StatefulSet,
  { pods, owned, orphans }: Pick<ClusterReader, "pods" | "owned" | "orphans">,
  writes: Pick<WritesInFlight, "pending">,
): SetIndex {
  const { uid = "", name = "", namespace = "" } = metadata;
  const owner = ownerKeyOf(metadata);
  return new SetIndex({
    uid,
    name,
    pods: () => [...owned.pods.of(owner), ...orphans.podsNamedAfter(keyOf({ namespace, name }))],
    pod: (pod) => pods.get(keyOf({ namespace, name: pod })),
    inFlight: () => writes.pending(owner),
  });
}
