/** The caches that all kinds share, filled by one watch each. */
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
} from "../kube/index.ts";
import { awaitsLaunch } from "./container_launch_priority/index.ts";
import { awaitsReadiness } from "./pod_readiness/index.ts";

const GROUP = "apps.kruise.io";

export interface SharedCaches {
  pods: Cache<Pod>;
  claims: Cache<PersistentVolumeClaim>;
  revisions: Cache<ControllerRevision>;
  nodes: Cache<Node>;
}

export function sharedCaches(): SharedCaches {
  return {
    pods: new Cache<Pod>({
      identify: podResource.codec.identify,
      keep: isOfInterest,
      indexes: {
        controller: (pod) => (pod.controller === undefined ? [] : [pod.controller.uid]),
        orphan: (pod) => (pod.controller === undefined ? orphanKeys(pod) : []),
      },
    }),
    claims: new Cache<PersistentVolumeClaim>({
      identify: persistentVolumeClaimResource.codec.identify,
      indexes: { owner: (claim) => claim.owners.map((owner) => owner.uid) },
    }),
    revisions: new Cache<ControllerRevision>({
      identify: controllerRevisionResource.codec.identify,
      indexes: {
        controller: (revision) =>
          revision.owners.filter((owner) => owner.controller).map((owner) => owner.uid),
        orphan: (revision) => (revision.owners.some((owner) => owner.controller) ? [] : [revision.namespace]),
      },
    }),
    nodes: new Cache<Node>({ identify: nodeResource.codec.identify }),
  };
}

/** `namespace/name` of the StatefulSet whose pod it may be by its name. */
export function orphanKeys(pod: Pod): string[] {
  const prefix = /^(.+)-\d+$/.exec(pod.name)?.[1];
  return prefix === undefined ? [] : [`${pod.namespace}/${prefix}`];
}

/** Pods of other owners are held only while a controller has work for them: on most clusters they are the many. */
function isOfInterest(pod: Pod): boolean {
  return (
    pod.controller === undefined ||
    pod.controller.group === GROUP ||
    awaitsLaunch(pod) ||
    awaitsReadiness(pod)
  );
}
