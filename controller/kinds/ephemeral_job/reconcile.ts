/** Jobs: reads pods, calls the plan, adds containers. No policy lives here. */
import type { EphemeralJob } from "../../../crds/index.ts";
import { type ObservedPod, observedPodResource } from "../../native/observed_pod.ts";
import type { KindEffect, Outcomes, WriteEffect, WritesEffect } from "../../plan/effects.ts";
import { longestGatheringMs } from "../../rollout/delays.ts";
import { writable } from "../../runtime/executor/writable.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import type { SelectionNeeds, SelectionReader } from "../../runtime/selected_objects.ts";
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
  readonly writes = {
    pods: writable(observedPodResource, {
      writeBack: (pod, key) => this.#needs.held(key)?.[0]?.writeBack(pod),
    }),
  };
  readonly #deps: KindDeps<EphemeralJob>;
  readonly #needs: SelectionNeeds<ObservedPod>;
  /** How long events of a job's pods are gathered, by key; milliseconds. */
  readonly #gathering = new Map<string, number>();
  /** By key: UIDs of pods that did not take the containers, the one that was asked last at the end. */
  readonly #refusing = new Map<string, Set<string>>();
  /** By key: an end that is to be stored of exactly this version of the job. Pods that come meanwhile are too late. */
  readonly #ends = new Map<string, { readonly job: EphemeralJob; readonly result: Result }>();

  constructor(deps: KindDeps<EphemeralJob>) {
    this.#deps = deps;
    this.#needs = deps.selectObjects(observedPodResource).needs((key, change) => {
      if (change === undefined) deps.queue.add(key);
      else deps.queue.addAfter(key, this.#gathering.get(key) ?? SHORTEST_GATHERING_MS);
    });
  }

  forget(key: string): void {
    this.#needs.release(key);
    this.#gathering.delete(key);
    this.#refusing.delete(key);
    this.#ends.delete(key);
  }

  reconcile(job: EphemeralJob, key: string): Result | undefined {
    const { namespace = "", deletionTimestamp } = job.metadata;
    if (deletionTimestamp !== undefined) return { effects: this.#leave(job, key) };
    const end = this.#ends.get(key);
    if (end?.job === job) return end.result;
    this.#ends.delete(key);
    if (isFinished(job.status)) this.#needs.release(key);
    else if (this.#needs.need(key, [{ namespace, labels: job.spec.selector }]) === undefined)
      return undefined;
    const [pods] = this.#needs.held(key) ?? [];
    const { inject, remove, status, requeueAfterMs } = this.#plan(key, job, pods);
    if (remove) return { effects: [{ type: "delete object" }] };
    const settled = isFinished(status);
    // One that comes late is of a job that has ended by then, or is none to another one that was made by its name.
    const result = { exactStatus: true, size: pods?.size ?? 0, settled, requeueAfterMs } as const;
    if (settled) return this.#ended(key, job, { ...result, status });
    if (inject.length === 0) return { ...result, status };
    const writes = inject.map((pod) => injectionOf(job, pod));
    const effects: readonly WritesEffect[] = [{ type: "writes", pace: "slow start", writes }];
    // What is being written counts in the pass that follows it; what is refused has to be seen in time.
    const refusing = this.#refusing.get(key);
    const isRefused = inject.some(({ uid }) => refusing?.has(uid));
    return { ...result, effects, ...(isRefused ? { status } : {}) };
  }

  executed(key: string, _result: Result, { writes, error }: Outcomes): void {
    if (writes.size === 0 || this.#deps.objects.get(key) === undefined) return;
    const refusing = this.#refusing.get(key) ?? new Set<string>();
    for (const [uid, outcome] of writes) {
      refusing.delete(uid);
      if (outcome.error !== undefined) refusing.add(uid);
    }
    this.#refusing.set(key, refusing);
    if (error === undefined) this.#deps.queue.add(key);
  }

  #ended(key: string, job: EphemeralJob, result: Result): Result {
    this.#needs.release(key);
    if (!isFinished(job.status)) this.#ends.set(key, { job, result });
    return result;
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
  #plan(key: string, job: EphemeralJob, pods: SelectionReader<ObservedPod> | undefined): JobPlan {
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
}

function injectionOf(job: EphemeralJob, pod: ObservedPod): WriteEffect {
  const { namespace, name, uid } = pod;
  const message = `failed to add ephemeral containers to pod ${name}: {error}`;
  return {
    type: "patch",
    resource: "pods",
    namespace,
    name,
    id: uid,
    patch: { type: "strategic", body: injectionPatch(job, pod) },
    subresource: "ephemeralcontainers",
    priority: "high",
    failed: { type: "event", event: { type: "Warning", reason: "CreateFailed", message } },
  };
}
