/** The pods of one kind's objects as its plans see them: where answers of writes go, and who hears of changes. */
import type { ObjectKey } from "../../../kube/core/index.ts";
import { type Cache, type Pod, sidesOf } from "../../../kube/index.ts";
import { type OwnerKey, ownerKey } from "../../plan/owners.ts";

type PodChanged = (owner: OwnerKey, before: Pod | undefined, after: Pod | undefined) => void;

export interface OwnedPods {
  /** What a write returned; `key` is that of the object. */
  writeBack(pod: Pod, key: ObjectKey): void;
  /** The pod of this key and UID is gone. */
  removed(podKey: ObjectKey, uid: string): void;
  /** `changed` hears of every change from now on, once for each owner of the pod. */
  subscribe(changed: PodChanged): void;
}

/** Pods by their controller. */
export function controlledPods(pods: Cache<Pod>): OwnedPods {
  return {
    writeBack: (pod) => void pods.writeBack(pod),
    removed: (podKey, uid) => void pods.remove(podKey, uid),
    subscribe: (changed) =>
      pods.subscribe((change) => {
        const { before, after } = sidesOf(change);
        const { namespace, controller } = change.type === "changed" ? change.before : change.object;
        if (controller !== undefined) changed(ownerKey(namespace, controller.uid), before, after);
      }),
  };
}
