/** Jobs: reads pods, calls the plan, adds containers, writes the status once. No policy lives here. */
import type { EphemeralJob, EphemeralJobStatus } from "../../crds/index.ts";
import { createMergePatch } from "../../kube/core/index.ts";
import { isKubeError, type Outcome, wordsOf } from "../../kube/index.ts";
import type { KindDeps, KindShell } from "../kind.ts";
import { type ObservedPod, observedPodResource } from "../observed_pod.ts";
import { longestGatheringMs } from "../rollout/delays.ts";
import type { HeldPods, PodNeeds } from "../selected_pods.ts";
import { batches, injectionPatch } from "./inject.ts";
import { CLEANUP_FINALIZER, type JobPlan } from "./model.ts";
import { planEphemeralJob } from "./plan.ts";
import { isFinished } from "./status.ts";

/** Plans of one job take at most an eighth of a core however many events arrive. */
const PLAN_SHARE = 7;
const SHORTEST_GATHERING_MS = 20;

type EphemeralJobDeps = Pick<
  KindDeps<EphemeralJob>,
  "client" | "clock" | "objects" | "queue" | "recorder" | "resource" | "selectPods" | "signal"
>;

export function ephemeralJobShell(deps: EphemeralJobDeps): KindShell {
  return new EphemeralJobShell(deps);
}

class EphemeralJobShell implements KindShell {
  readonly #deps: EphemeralJobDeps;
  readonly #needs: PodNeeds<ObservedPod>;
  /** How long events of a job's pods are gathered, by key; milliseconds. */
  readonly #gathering = new Map<string, number>();
  /** By key: UIDs of pods that did not take the containers. */
  readonly #refusing = new Map<string, Set<string>>();

  constructor(deps: EphemeralJobDeps) {
    this.#deps = deps;
    this.#needs = deps.selectPods(observedPodResource).needs((key, change) => {
      if (change === undefined) deps.queue.add(key);
      else deps.queue.addAfter(key, this.#gathering.get(key) ?? SHORTEST_GATHERING_MS);
    });
  }

  coalescingMs(): number {
    return 0;
  }

  forget(key: string): void {
    this.#needs.release(key);
    this.#gathering.delete(key);
    this.#refusing.delete(key);
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  async reconcile(key: string): Promise<Outcome> {
    const job = this.#deps.objects.get(key);
    if (job === undefined) return {};
    const finalizers = job.metadata.finalizers ?? [];
    if (job.metadata.deletionTimestamp !== undefined) {
      this.#needs.release(key);
      if (finalizers.includes(CLEANUP_FINALIZER))
        await this.#writeFinalizers(
          job,
          finalizers.filter((finalizer) => finalizer !== CLEANUP_FINALIZER),
        );
      return {};
    }
    if (!finalizers.includes(CLEANUP_FINALIZER))
      await this.#writeFinalizers(job, [...finalizers, CLEANUP_FINALIZER]);
    return this.#carryOut(key);
  }

  async #carryOut(key: string): Promise<Outcome> {
    const job = this.#deps.objects.get(key);
    if (job === undefined) return {};
    const pods = this.#podsOf(key, job);
    if (pods === undefined) return {};
    const plan = this.#plan(key, job, pods);
    if (plan.remove) {
      await this.#remove(job);
      return {};
    }
    const failure = await this.#inject(key, job, pods, plan);
    if (!this.#deps.objects.holds(key, job.metadata.uid)) return {};
    // What was just written counts at once.
    const after = plan.inject.length > 0 ? this.#plan(key, job, pods) : plan;
    await this.#writeStatus(job, after.status);
    if (failure !== undefined) throw failure.error;
    if (isFinished(after.status)) this.#needs.release(key);
    return { wakeAfterMs: after.wakeAfterMs };
  }

  /** A finished job needs no pods any more. */
  #podsOf(key: string, job: EphemeralJob): HeldPods<ObservedPod> | "none" | undefined {
    if (isFinished(job.status)) {
      this.#needs.release(key);
      return "none";
    }
    const { namespace = "" } = job.metadata;
    return this.#needs.need(key, [{ namespace, labels: job.spec.selector }])?.[0];
  }

  #plan(key: string, job: EphemeralJob, pods: HeldPods<ObservedPod> | "none"): JobPlan {
    const { clock } = this.#deps;
    const started = clock.monotonic();
    const plan = planEphemeralJob({
      job,
      pods: pods === "none" ? [] : [...pods.values()],
      refusing: this.#refusing.get(key) ?? new Set(),
      now: clock.now(),
    });
    const gathering = Math.max(SHORTEST_GATHERING_MS, (clock.monotonic() - started) * PLAN_SHARE);
    const size = pods === "none" ? 0 : pods.size;
    this.#gathering.set(key, Math.min(Math.max(SHORTEST_GATHERING_MS, longestGatheringMs(size)), gathering));
    return plan;
  }

  /** The first failure; batches after it wait for the next try. */
  async #inject(
    key: string,
    job: EphemeralJob,
    held: HeldPods<ObservedPod> | "none",
    { inject }: JobPlan,
  ): Promise<{ error: unknown } | undefined> {
    const refusing = this.#refusing.get(key) ?? new Set<string>();
    this.#refusing.set(key, refusing);
    for (const batch of batches(inject)) {
      const results = await Promise.all(
        batch.map(async (pod) => {
          const failure = await this.#injectOne(job, pod, held);
          if (failure === undefined) refusing.delete(pod.uid);
          else refusing.add(pod.uid);
          return failure;
        }),
      );
      const failure = results.find((result) => result !== undefined);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  async #injectOne(
    job: EphemeralJob,
    pod: ObservedPod,
    held: HeldPods<ObservedPod> | "none",
  ): Promise<{ error: unknown } | undefined> {
    const { client, signal } = this.#deps;
    const { namespace, name } = pod;
    try {
      const written = await client.patch(
        observedPodResource,
        { namespace, name },
        { type: "strategic", body: injectionPatch(job, pod) },
        { subresource: "ephemeralcontainers", priority: "high", flow: job.metadata.uid ?? "", signal },
      );
      if (held !== "none") held.writeBack(written);
    } catch (error) {
      // The pod is gone, or the server has no such subresource.
      if (isKubeError(error, "NotFound")) return undefined;
      // Written by others at the same time, or another pod by now: the next pass sees.
      if (isKubeError(error, "Conflict")) return { error };
      const why = wordsOf(error);
      this.#tell(job, "CreateFailed", `failed to add ephemeral containers to pod ${name}: ${why}`);
      return { error };
    }
    return undefined;
  }

  #tell(job: EphemeralJob, reason: string, message: string): void {
    const { namespace = "", name = "", uid = "", resourceVersion = "" } = job.metadata;
    const { group, version, kind } = this.#deps.resource;
    const target = { apiVersion: `${group}/${version}`, kind, namespace, name, uid, resourceVersion };
    this.#deps.recorder.event(target, "Warning", reason, message);
  }

  async #writeFinalizers(job: EphemeralJob, finalizers: readonly string[]): Promise<void> {
    const { uid, resourceVersion } = job.metadata;
    try {
      // A list is replaced as a whole: only the one that was read may be.
      await this.#patch(job, { metadata: { uid, resourceVersion, finalizers } });
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
    }
  }

  async #writeStatus(job: EphemeralJob, status: EphemeralJobStatus): Promise<void> {
    const patch = createMergePatch(job.status ?? {}, status);
    if (Object.keys(Object(patch)).length > 0) await this.#patch(job, { status: patch }, "status");
  }

  async #remove(job: EphemeralJob): Promise<void> {
    const { client, resource, signal } = this.#deps;
    const { namespace = "", name = "", uid = "" } = job.metadata;
    try {
      await client.delete(resource, { namespace, name }, { uid, flow: uid, signal });
    } catch (error) {
      if (!isKubeError(error, "NotFound", "Conflict")) throw error;
    }
  }

  async #patch(job: EphemeralJob, body: object, subresource?: string): Promise<void> {
    const { client, resource, objects, signal } = this.#deps;
    const { namespace = "", name = "", uid = "" } = job.metadata;
    const options = { flow: uid, signal, ...(subresource === undefined ? {} : { subresource }) };
    objects.writeBack(await client.patch(resource, { namespace, name }, { type: "merge", body }, options));
  }
}
