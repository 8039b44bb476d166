/** AdvancedCronJobs: children from the caches, deletions before the creation, in the background. */
import type { AdvancedCronJob } from "../../../crds/index.ts";
import { jobResource, severityOf, type WriteOptions } from "../../../kube/index.ts";
import { type OwnerKey, ownerKeyOf, ownersOf } from "../../plan/owners.ts";
import { Children } from "../../runtime/children.ts";
import { Backoff } from "../../runtime/executor/backoff.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { ObjectAction, Pass, Reconciler } from "../../runtime/reconciler.ts";
import { broadcastJobResource } from "../broadcast_job/resource.ts";
import { imageListPullJobResource } from "../image_list_pull_job/resource.ts";
import { scheduledSinceAnnotation } from "./memory.ts";
import {
  type Child,
  type ChildKind,
  childOfBroadcastJob,
  childOfImageListPullJob,
  childOfJob,
} from "./observe.ts";
import { type CronJobPlan, planAdvancedCronJob } from "./plan.ts";

function annotationOf({ scheduledSince }: CronJobPlan): ObjectAction[] {
  if (scheduledSince === undefined) return [];
  const annotations = { [scheduledSinceAnnotation]: scheduledSince };
  return [{ type: "patch object", body: { metadata: { annotations } } }];
}

export class AdvancedCronJobReconciler implements Reconciler<AdvancedCronJob> {
  readonly #deps: KindDeps<AdvancedCronJob>;
  readonly #children: Readonly<Record<ChildKind, Pick<Children<unknown>, "create" | "delete">>>;
  readonly #childrenOf: (owner: OwnerKey) => Child[];
  readonly #localZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  /** By UID of the cron job: it is not planned again before its writes are answered. */
  readonly #writing = new Map<string, Promise<void>>();
  readonly #backoff: Backoff;
  /** What each cron job tried last: another run, or a changed object, is tried at once. */
  readonly #attempted = new Map<string, string>();
  /** By UID, the generation of which it was told that nothing is run. */
  readonly #givenUp = new Map<string, number>();

  constructor(deps: KindDeps<AdvancedCronJob>) {
    this.#deps = deps;
    const { kind } = deps.resource;
    const jobs = new Children(deps, kind, jobResource, ({ owners }) => owners);
    const broadcastJobs = new Children(deps, kind, broadcastJobResource, ownersOf);
    const pullJobs = new Children(deps, kind, imageListPullJobResource, ownersOf);
    this.#children = { Job: jobs, BroadcastJob: broadcastJobs, ImageListPullJob: pullJobs };
    this.#childrenOf = (owner) => [
      ...Array.from(jobs.of(owner), childOfJob),
      ...Array.from(broadcastJobs.of(owner), childOfBroadcastJob),
      ...Array.from(pullJobs.of(owner), childOfImageListPullJob),
    ];
    const { clock, options } = deps;
    this.#backoff = new Backoff({ clock, baseDelayMs: options.baseDelayMs, maxDelayMs: options.maxDelayMs });
  }

  forget(_key: string, uid: string): void {
    this.#backoff.forget(uid);
    this.#attempted.delete(uid);
    this.#givenUp.delete(uid);
  }

  async drained(): Promise<void> {
    while (this.#writing.size > 0) await Promise.allSettled(this.#writing.values());
  }

  reconcile(job: AdvancedCronJob, key: string): Pass | undefined {
    const { uid = "", generation = 0 } = job.metadata;
    // The end of its writes queues it again.
    if (this.#writing.has(uid)) return undefined;
    const plan = planAdvancedCronJob({
      job,
      children: this.#childrenOf(ownerKeyOf(job.metadata)),
      localZone: this.#localZone,
      now: this.#deps.clock.now(),
    });
    const hasWrites = plan.creation !== undefined || plan.deletions.length > 0;
    const attempt = `${generation} ${plan.creation?.name ?? ""}`;
    const heldMs = hasWrites && this.#attempted.get(uid) === attempt ? this.#backoff.leftMs(uid) : 0;
    const { status, requeueAfterMs } = plan;
    const actions = [...this.#eventsOf(uid, generation, plan), ...annotationOf(plan)];
    if (heldMs > 0)
      return { status, actions, settled: true, requeueAfterMs: Math.min(heldMs, requeueAfterMs ?? heldMs) };
    if (hasWrites) {
      this.#attempted.set(uid, attempt);
      this.#start(key, uid, this.#perform(job, plan));
    }
    // A child that is made comes back through its cache, and with it a plan whose status has it.
    return plan.creation === undefined
      ? { status, actions, settled: true, requeueAfterMs }
      : { actions, requeueAfterMs };
  }

  /** Once a generation. */
  #eventsOf(uid: string, generation: number, { waiting }: CronJobPlan): ObjectAction[] {
    const reason = "TooManyMissedTimes";
    const given = waiting.find((entry) => entry.reason === reason);
    if (given === undefined) this.#givenUp.delete(uid);
    if (given === undefined || this.#givenUp.get(uid) === generation) return [];
    this.#givenUp.set(uid, generation);
    const message = `${given.message}. Set or decrease .spec.startingDeadlineSeconds or check clock skew`;
    return [{ type: "event", event: { type: "Warning", reason, message } }];
  }

  /** In the background: cron jobs that come due together wait for the server, not for each other. */
  #start(key: string, uid: string, writes: Promise<void>): void {
    const { log, objects, signal, queue } = this.#deps;
    const ended = writes
      .then(
        () => this.#backoff.forget(uid),
        (error: unknown) => {
          if (!objects.holds(key, uid)) return;
          const retryInMs = this.#backoff.failed(uid, error);
          if (!signal.aborted)
            log[severityOf(error)]("a run could not be started or removed", { error, key, retryInMs });
        },
      )
      .then(() => {
        this.#writing.delete(uid);
        queue.add(key);
      });
    this.#writing.set(uid, ended);
  }

  async #perform({ metadata }: AdvancedCronJob, { deletions, creation }: CronJobPlan): Promise<void> {
    const { uid = "", namespace = "" } = metadata;
    const owner = { namespace, uid };
    const options: WriteOptions = { priority: "high", flow: uid, signal: this.#deps.signal };
    await Promise.all(
      deletions.map((child) => this.#children[child.kind].delete(owner, child.name, child.uid, options)),
    );
    if (creation === undefined) return;
    await this.#children[creation.kind].create(owner, creation.name, creation.body, options);
  }
}
