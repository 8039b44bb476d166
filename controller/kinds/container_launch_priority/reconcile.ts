/** Writes the keys for which the kubelet holds containers back. Spec: containers 2.2. */
import { keyOf, type Pod, podResource } from "../../../kube/index.ts";
import { eventTarget } from "../../runtime/executor/event_target.ts";
import type { SharedDeps } from "../../runtime/kind.ts";
import type { PlainReconciler, PlainResult } from "../../runtime/reconciler.ts";
import { type Given, giveKeys } from "./barrier.ts";
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
  readonly #deps: SharedDeps;
  /** By UID, the keys that this process has written. One that starts writes once more: it does no harm. */
  readonly #released = new Map<string, ReadonlySet<string>>();
  /** By UID, until when a ConfigMap that was taken over may still be collected. */
  readonly #collectedUntil = new Map<string, number>();

  constructor(deps: SharedDeps) {
    this.#deps = deps;
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
    if (!isReleased) return { effects: [() => this.#release(pod, plan)] };
    return { effects: plan.completed ? [() => this.#complete(pod)] : [] };
  }

  async #release(pod: Pod, { keys, completed, waitsFor }: LaunchPlan): Promise<void> {
    const newest = keys.at(-1) ?? "";
    // Without a report of the kubelet nothing has been let go before, and nothing has to be enqueued.
    const fresh = pod.containerStatuses.length === 0;
    const given = await giveKeys(this.#deps, pod, keys, fresh);
    if (given === "another's") return this.#blocked(pod);
    this.#deps.log.info("containers are let go", {
      pod: keyOf(pod),
      key: newest,
      waitsFor: waitsFor.join(","),
    });
    const isSettled = this.#settled(pod, given);
    if (!fresh && !(completed && isSettled))
      await this.#annotate(pod, { [launchReleasedAnnotation]: newest });
    if (!isSettled) return;
    this.#released.set(pod.uid, new Set(keys));
    if (completed) await this.#complete(pod);
  }

  /** Whether what was written stays; else the pod comes again when that is so. */
  #settled(pod: Pod, given: Given): boolean {
    const { clock, queue } = this.#deps;
    const now = clock.monotonic();
    if (given === "taken over") this.#collectedUntil.set(pod.uid, now + COLLECTION_MS);
    const left = (this.#collectedUntil.get(pod.uid) ?? now) - now;
    if (left > 0) queue.addAfter(keyOf(pod), left);
    return left <= 0;
  }

  #blocked(pod: Pod): void {
    const { recorder, queue } = this.#deps;
    const message = `containers wait: ConfigMap ${barrierName(pod)}, which lets them start, is not owned by this pod and left as it is; delete it, or give the pod another name`;
    recorder.event(eventTarget(podResource, pod), "Warning", "BarrierNotOwned", message);
    queue.addAfter(keyOf(pod), BLOCKED_MS);
  }

  #complete(pod: Pod): Promise<void> {
    return this.#annotate(pod, { [launchCompletedAnnotation]: "true", [launchReleasedAnnotation]: null });
  }

  async #annotate(
    { namespace, name, uid }: Pod,
    annotations: Readonly<Record<string, string | null>>,
  ): Promise<void> {
    const { writesFor, caches, signal } = this.#deps;
    const patch = { type: "strategic", body: { metadata: { uid, annotations } } } as const;
    const options = { signal, flow: uid, priority: "high" } as const;
    caches.pods.writeBack(
      await writesFor({ namespace }).patch(podResource, { namespace, name }, patch, options),
    );
  }
}
