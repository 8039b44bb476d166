/** Jobs: reads pods, calls the plan, adds containers. No policy lives here. */
import type { EphemeralJob } from "../../../crds/index.ts";
import { isKubeError, messageOf } from "../../../kube/index.ts";
import { type ObservedPod, observedPodResource } from "../../native/observed_pod.ts";
import type { KindEffect } from "../../plan/effects.ts";
import { scopeOf } from "../../plan/owners.ts";
import { longestGatheringMs } from "../../rollout/delays.ts";
import { eventTarget } from "../../runtime/executor/event_target.ts";
import { slowStart } from "../../runtime/executor/slow_start.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import type { HeldPods, PodNeeds } from "../../runtime/selected_pods.ts";
import { injectionPatch } from "./inject.ts";
import { CLEANUP_FINALIZER, type JobPlan } from "./model.ts";
import { planEphemeralJob } from "./plan.ts";
import { removalFailure } from "./removal.ts";
import { isFinished } from "./status.ts";

/** Plans of one job take at most an eighth of a core however many events arrive. */
const PLAN_SHARE = 7;
const SHORTEST_GATHERING_MS = 20;

export class EphemeralJobReconciler implements Reconciler<EphemeralJob> {
  readonly finalizer = CLEANUP_FINALIZER;
  readonly #deps: KindDeps<EphemeralJob>;
  readonly #needs: PodNeeds<ObservedPod>;
  /** How long events of a job's pods are gathered, by key; milliseconds. */
  readonly #gathering = new Map<string, number>();
  /** By key: UIDs of pods that did not take the containers. */
  readonly #refusing = new Map<string, Set<string>>();

  constructor(deps: KindDeps<EphemeralJob>) {
    this.#deps = deps;
    this.#needs = deps.selectPods(observedPodResource).needs((key, change) => {
      if (change === undefined) deps.queue.add(key);
      else deps.queue.addAfter(key, this.#gathering.get(key) ?? SHORTEST_GATHERING_MS);
    });
  }

  forget(key: string): void {
    this.#needs.release(key);
    this.#gathering.delete(key);
    this.#refusing.delete(key);
  }

  async reconcile(job: EphemeralJob, key: string): Promise<Result | undefined> {
    const { uid, namespace = "", deletionTimestamp } = job.metadata;
    if (deletionTimestamp !== undefined) return { effects: this.#leave(job, key) };
    if (isFinished(job.status)) this.#needs.release(key);
    else if (this.#needs.need(key, [{ namespace, labels: job.spec.selector }]) === undefined)
      return undefined;
    const [pods] = this.#needs.held(key) ?? [];
    const plan = this.#plan(key, job, pods);
    if (plan.remove) return { effects: [{ type: "delete object" }] };
    const { failure } = await slowStart(plan.inject, (pod) => this.#inject(key, job, pod, pods));
    if (!this.#deps.objects.holds(key, uid)) return undefined;
    // What was just written counts at once.
    const { status, requeueAfterMs } = plan.inject.length > 0 ? this.#plan(key, job, pods) : plan;
    const settled = isFinished(status);
    if (settled && failure === undefined) this.#needs.release(key);
    // The status is reported all the same.
    const effects = failure === undefined ? [] : [() => Promise.reject(failure.error)];
    return { status, size: pods?.size ?? 0, settled, effects, requeueAfterMs };
  }

  /** Nothing can be removed, and nothing holds the job. */
  #leave(job: EphemeralJob, key: string): KindEffect[] {
    const [pods] = this.#needs.held(key) ?? [];
    const message = removalFailure(job, pods && [...pods.values()]);
    this.#needs.release(key);
    const event: KindEffect[] =
      message === undefined
        ? []
        : [{ type: "event", event: { type: "Warning", reason: "RemoveFailed", message } }];
    return [...event, { type: "remove finalizer", finalizer: this.finalizer }];
  }

  /** `pods`: undefined for a job that has ended. */
  #plan(key: string, job: EphemeralJob, pods: HeldPods<ObservedPod> | undefined): JobPlan {
    const { clock } = this.#deps;
    const started = clock.monotonic();
    const plan = planEphemeralJob({
      job,
      pods: [...(pods?.values() ?? [])],
      refusing: this.#refusing.get(key) ?? new Set(),
      now: clock.now(),
    });
    const gathering = Math.max(SHORTEST_GATHERING_MS, (clock.monotonic() - started) * PLAN_SHARE);
    const longest = Math.max(SHORTEST_GATHERING_MS, longestGatheringMs(pods?.size ?? 0));
    this.#gathering.set(key, Math.min(longest, gathering));
    return plan;
  }

  async #inject(
    key: string,
    job: EphemeralJob,
    pod: ObservedPod,
    held: HeldPods<ObservedPod> | undefined,
  ): Promise<void> {
    const { writesFor, recorder, resource, signal } = this.#deps;
    const { namespace, name } = pod;
    const { uid = "" } = job.metadata;
    const refusing = this.#refusing.get(key) ?? new Set<string>();
    this.#refusing.set(key, refusing);
    refusing.delete(pod.uid);
    const writer = writesFor(scopeOf(key));
    const patch = { type: "strategic", body: injectionPatch(job, pod) } as const;
    const options = { subresource: "ephemeralcontainers", priority: "high", flow: uid, signal } as const;
    try {
      held?.writeBack(await writer.patch(observedPodResource, { namespace, name }, patch, options));
    } catch (error) {
      // The pod is gone, or the server has no such subresource.
      if (isKubeError(error, "NotFound")) return;
      refusing.add(pod.uid);
      // Otherwise it was written by others at the same time, or is another pod by now: the next pass sees.
      if (!isKubeError(error, "Conflict")) {
        const message = `failed to add ephemeral containers to pod ${name}: ${messageOf(error)}`;
        recorder.event(eventTarget(resource, job.metadata), "Warning", "CreateFailed", message);
      }
      throw error;
    }
  }
}
