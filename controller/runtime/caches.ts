/** The caches that all kinds share, filled by one watch each. */
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
import { awaitsLaunch } from "../kinds/container_launch_priority/index.ts";
import { awaitsReadiness } from "../kinds/pod_readiness/index.ts";
import { dependantsIn } from "../plan/owners.ts";
import { GROUP } from "../plan/resources.ts";
import type { SharedCaches } from "./kind.ts";

/** What one shard holds: dependants of the owners that it reconciles, and what may become theirs. */
export interface Holding {
  /** Whether owners of this kind (in `apps.kruise.io`) and UID are reconciled here. */
  owner(kind: string, uid: string): boolean;
  /** Whether pods of other owners are looked after here while a controller has work for them. */
  others: boolean;
}

export const everything: Holding = { owner: () => true, others: true };

export function sharedCaches(holding: Holding = everything): SharedCaches {
  const pods = new Cache<Pod>({
    identify: podResource.codec.identify,
    keep: (pod) => isOfInterest(pod, holding),
    indexes: { orphan: (pod) => (pod.controller === undefined ? orphanKeys(pod) : []) },
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
    nodes: new Cache<Node>({ identify: nodeResource.codec.identify }),
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
  };
}

/** `namespace/name` of the StatefulSet whose pod it may be by its name. */
export function orphanKeys(pod: Pod): string[] {
  const prefix = /^(.+)-\d+$/.exec(pod.name)?.[1];
  return prefix === undefined ? [] : [`${pod.namespace}/${prefix}`];
}

/** `namespace/name` of the StatefulSets that may have made the claim for a pod, by its name `<template>-<set>-<ordinal>`. */
export function claimantKeys({
  namespace,
  name,
}: Pick<PersistentVolumeClaim, "namespace" | "name">): string[] {
  const words = (/^(.+)-\d+$/.exec(name)?.[1] ?? "").split("-");
  return words.slice(1).map((_, index) => `${namespace}/${words.slice(index + 1).join("-")}`);
}

/** Pods of other owners are held only while a controller has work for them: on most clusters they are the many. */
function isOfInterest(pod: Pod, holding: Holding): boolean {
  const { controller } = pod;
  if (controller === undefined) return true;
  if (controller.group === GROUP && holding.owner(controller.kind, controller.uid)) return true;
  return holding.others && (awaitsLaunch(pod) || awaitsReadiness(pod));
}

/** Owners of other groups say nothing of the shard: a claim may belong to a pod, a revision to a native set. */
function isHeld(owner: OwnerReference, holding: Holding): boolean {
  return owner.apiVersion.split("/")[0] !== GROUP || holding.owner(owner.kind, owner.uid);
}
