/** Lets go of the keys for which the kubelet holds containers back. Spec: containers 2.2. */
import { keyOf, type Pod, podResource } from "../../../kube/index.ts";
import { configMapResource } from "../../native/config_maps.ts";
import type { AttemptsEffect, EventEffect, Outcomes, WriteEffect } from "../../plan/effects.ts";
import { eventTarget } from "../../plan/event_target.ts";
import type { Writables } from "../../runtime/executor/executor.ts";
import { writable } from "../../runtime/executor/writable.ts";
import type { SharedDeps } from "../../runtime/kind.ts";
import type { PlainReconciler, PlainResult } from "../../runtime/reconciler.ts";
import { barrierEffect, GIVEN, TAKEN_OVER } from "./barrier.ts";
import { awaitsLaunch, barrierName, type LaunchPlan, launchCompletedAnnotation, planLaunch } from "./plan.ts";

/**
 * Tells the level that was let go last. The kubelet tries containers that lacked a key again after 10 to 15 seconds,
 * but looks at once when the pod changes: this annotation is such a change.
 */
const launchReleasedAnnotation = "refit.dev/launch-released";

/** ConfigMaps are not watched: so long after a refusal it is looked whether the one in the way is gone. */
const BLOCKED_MS = 15_000;
/**
 * The collector of the former pod's objects may have decided about a ConfigMap just before it was taken over, and deletes
 * it by its UID alone. Until this is over, keys are written again.
 */
const COLLECTION_MS = 5_000;

/** Pods that wait are held in the shared cache whoever owns them: nothing else has to be watched. */
export class LaunchPriorityReconciler implements PlainReconciler {
  readonly writes: Writables;
  readonly #deps: SharedDeps;
  /** By UID, the keys that this process has written. One that starts writes once more: it does no harm. */
  readonly #released = new Map<string, ReadonlySet<string>>();
  /** By UID, until when a ConfigMap that was taken over may still be collected. */
  readonly #collectedUntil = new Map<string, number>();
  /** What the effects of a result let go, and of which pod: there may be another one of the name by the time that they end. */
  readonly #releasing = new WeakMap<PlainResult, LaunchPlan & { readonly uid: string }>();

  constructor(deps: SharedDeps) {
    this.#deps = deps;
    this.writes = {
      barriers: writable(configMapResource),
      pods: writable(podResource, { writeBack: (pod) => deps.caches.pods.writeBack(pod) }),
    };
    deps.caches.pods.subscribe(({ type, object }) => {
      if (type !== "removed" && awaitsLaunch(object)) deps.queue.add(keyOf(object), "high");
      else {
        this.#released.delete(object.uid);
        this.#collectedUntil.delete(object.uid);
      }
    });
  }

  reconcile(key: string): PlainResult | undefined {
    const pod = this.#deps.caches.pods.get(key);
    if (pod === undefined || !awaitsLaunch(pod)) return undefined;
    const plan = planLaunch(pod);
    const isReleased = this.#released.get(pod.uid)?.has(plan.keys.at(-1) ?? "") ?? false;
    if (!isReleased) {
      const result = { effects: [this.#release(pod, plan)] };
      this.#releasing.set(result, { ...plan, uid: pod.uid });
      return result;
    }
    return { effects: plan.completed ? [completionOf(pod)] : [] };
  }

  #release(pod: Pod, { keys, completed }: LaunchPlan): AttemptsEffect {
    // Without a report of the kubelet nothing has been let go before, and nothing has to be enqueued.
    const fresh = pod.containerStatuses.length === 0;
    const release = fresh ? [] : [annotationsOf(pod, { [launchReleasedAnnotation]: keys.at(-1) ?? "" })];
    // What may still be collected is written once more, so that nothing is over yet.
    const isSettled = this.#collectableMs(pod) === 0;
    const given = completed && isSettled ? [completionOf(pod)] : release;
    return barrierEffect(pod, { keys, fresh, given, takenOver: release, blocked: blockedOf(pod) });
  }

  executed(key: string, result: PlainResult, { writes, error }: Outcomes): void {
    const { caches, clock, queue, log } = this.#deps;
    // The pod may need other keys by now: what was written is what the plan said then.
    const plan = this.#releasing.get(result);
    const pod = caches.pods.get(key);
    if (pod === undefined || pod.uid !== plan?.uid) return;
    const isDone = (id: string): boolean => writes.has(id) && writes.get(id)?.error === undefined;
    // One whose answer was lost may have been carried out.
    if (writes.has(TAKEN_OVER)) this.#collectedUntil.set(pod.uid, clock.monotonic() + COLLECTION_MS);
    const isGiven = isDone(GIVEN) || isDone(TAKEN_OVER);
    const { keys, waitsFor } = plan;
    if (isGiven) {
      log.info("containers are let go", { pod: key, key: keys.at(-1) ?? "", waitsFor: waitsFor.join(",") });
      const left = this.#collectableMs(pod);
      if (left > 0) queue.addAfter(key, left);
      else if (error === undefined) this.#released.set(pod.uid, new Set(keys));
    } else if (writes.size > 0 && error === undefined) queue.addAfter(key, BLOCKED_MS);
  }

  /** How long the pod's ConfigMap may still be collected. */
  #collectableMs({ uid }: Pod): number {
    const until = this.#collectedUntil.get(uid);
    return until === undefined ? 0 : Math.max(0, until - this.#deps.clock.monotonic());
  }
}

function blockedOf(pod: Pod): EventEffect {
  const message = `containers wait: ConfigMap ${barrierName(pod)}, which lets them start, is not owned by this pod and left as it is; delete it, or give the pod another name`;
  const event = { type: "Warning", reason: "BarrierNotOwned", message } as const;
  return { type: "event", event, about: eventTarget(podResource, pod) };
}

function completionOf(pod: Pod): WriteEffect {
  return annotationsOf(pod, { [launchCompletedAnnotation]: "true", [launchReleasedAnnotation]: null });
}

function annotationsOf(
  { namespace, name, uid }: Pod,
  annotations: Readonly<Record<string, string | null>>,
): WriteEffect {
  const patch = { type: "strategic", body: { metadata: { uid, annotations } } } as const;
  return { type: "patch", resource: "pods", namespace, name, patch, priority: "high" };
}
