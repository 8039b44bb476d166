/** The caches that all kinds of a shard share, filled by one watch each. */
import type { OwnerReference } from "../../kube/core/index.ts";
import {
  Cache,
  type ControllerRevision,
  controllerRevisionResource,
  type Node,
  nodeResource,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaimResource,
  podResource,
} from "../../kube/index.ts";
import { dependantsIn } from "../plan/owners.ts";
import { GROUP } from "../plan/resources.ts";
import { orphanKeys } from "../rollout/pods/numbered_names.ts";
import type { AnyKind, Controller, SharedCaches } from "./kind.ts";
import { owns, type Shard } from "./shard.ts";

/** What one shard holds: dependants of the owners that it reconciles, and what may become theirs. */
export interface Holding {
  /** Whether owners of this kind (in `apps.kruise.io`) and UID are reconciled here. */
  owner(kind: string, uid: string): boolean;
  /** Controllers that look after pods of other owners here, while they have work for them. */
  others: readonly Pick<Controller, "keepsPod">[];
}

/** Dependants of all owners, and no pods of others. */
export const ofAllOwners: Holding = { owner: () => true, others: [] };

/**
 * What a shard holds of the list of kinds and of controllers: dependants of a kind that is not spread, and pods of other
 * owners, are all held by shard 0.
 */
export function holdingOf(
  shard: Shard,
  kinds: readonly Pick<AnyKind, "sharded" | "resource">[],
  controllers: readonly Pick<Controller, "keepsPod">[],
): Holding {
  const isFirst = shard.index === 0;
  const others = controllers.filter(({ keepsPod }) => isFirst && keepsPod !== undefined);
  if (shard.count === 1) return { ...ofAllOwners, others };
  const sharded = new Set(kinds.filter((kind) => kind.sharded).map(({ resource }) => resource.kind));
  return { owner: (kind, uid) => (sharded.has(kind) ? owns(shard, uid) : isFirst), others };
}

/** `nodes` are held alike by all shards. */
export function sharedCaches(
  holding: Holding = ofAllOwners,
  nodes = new Cache<Node>({ identify: nodeResource.codec.identify }),
): SharedCaches {
  const pods = new Cache<Pod>({
    identify: podResource.codec.identify,
    keep: (pod) => isOfInterest(pod, holding),
    indexes: {
      orphan: ({ namespace, controller }) => (controller === undefined ? [namespace] : []),
      "numbered orphan": (pod) => (pod.controller === undefined ? orphanKeys(pod) : []),
    },
  });
  const claims = new Cache<PersistentVolumeClaim>({
    identify: persistentVolumeClaimResource.codec.identify,
    keep: ({ owners }) => owners.length === 0 || owners.some((owner) => isHeld(owner, holding)),
  });
  const revisions = new Cache<ControllerRevision>({
    identify: controllerRevisionResource.codec.identify,
    keep: ({ owners }) => owners.every((owner) => !owner.controller || isHeld(owner, holding)),
    indexes: {
      orphan: (revision) => (revision.owners.some((owner) => owner.controller) ? [] : [revision.namespace]),
    },
  });
  return {
    pods,
    claims,
    revisions,
    nodes,
    owned: {
      pods: dependantsIn(pods, "controller", ({ namespace, controller }) => ({
        namespace,
        owners: controller === undefined ? [] : [controller.uid],
      })),
      claims: dependantsIn(claims, "owner", ({ namespace, owners }) => ({
        namespace,
        owners: owners.map(({ uid }) => uid),
      })),
      revisions: dependantsIn(revisions, "controller", ({ namespace, owners }) => ({
        namespace,
        owners: owners.flatMap(({ controller, uid }) => (controller ? [uid] : [])),
      })),
    },
    orphans: {
      podsIn: (namespace) => pods.byIndex("orphan", namespace),
      podsNamedAfter: (workload) => pods.byIndex("numbered orphan", workload),
      revisionsIn: (namespace) => revisions.byIndex("orphan", namespace),
    },
  };
}

/** Pods of other owners are held only while a controller has work for them: on most clusters they are the many. */
function isOfInterest(pod: Pod, holding: Holding): boolean {
  const { controller } = pod;
  if (controller === undefined) return true;
  if (controller.group === GROUP && holding.owner(controller.kind, controller.uid)) return true;
  return holding.others.some((other) => other.keepsPod?.(pod));
}

/** Owners of other groups say nothing of the shard: a claim may belong to a pod, a revision to a native set. */
function isHeld(owner: OwnerReference, holding: Holding): boolean {
  return owner.apiVersion.split("/")[0] !== GROUP || holding.owner(owner.kind, owner.uid);
}
