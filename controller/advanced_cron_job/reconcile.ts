/** The shell of AdvancedCronJob: children from the caches, deletions before the creation, one status. */
import type { AdvancedCronJob, BroadcastJob, ImageListPullJob } from "../../crds/index.ts";
import type { OwnerReference } from "../../kube/core/index.ts";
import {
  type Cache,
  isKubeError,
  type Job,
  jobResource,
  type Outcome,
  type Resource,
  severityOf,
  type WriteOptions,
} from "../../kube/index.ts";
import { broadcastJobResource } from "../broadcast_job/resource.ts";
import { imageListPullJobResource } from "../image_list_pull_job/resource.ts";
import type { KindDeps, KindShell } from "../kind.ts";
import { Backoff } from "../rollout/backoff.ts";
import { type StatusTarget, type StatusWriter, statusWriterOf } from "../rollout/status_writer.ts";
import {
  type Child,
  type ChildKind,
  childOfBroadcastJob,
  childOfImageListPullJob,
  childOfJob,
  controllingCronJob,
} from "./observe.ts";
import { type CronJobPlan, planAdvancedCronJob } from "./plan.ts";

type CronJobDeps = Pick<
  KindDeps<AdvancedCronJob>,
  "client" | "clock" | "informers" | "log" | "objects" | "options" | "queue" | "resource" | "signal"
>;

export function advancedCronJobShell(deps: CronJobDeps): KindShell {
  return new AdvancedCronJobShell(deps);
}

/** The children of one kind. */
interface Children {
  of(uid: string): Iterable<Child>;
  /** Creates a child; one that exists already and is the cron job's own is taken for created. */
  create(owner: Owner, name: string, body: object, options: WriteOptions): Promise<void>;
  remove(owner: Owner, child: Child, options: WriteOptions): Promise<void>;
}

interface Owner {
  namespace: string;
  uid: string;
}

class AdvancedCronJobShell implements KindShell {
  readonly #deps: CronJobDeps;
  readonly #children: Readonly<Record<ChildKind, Children>>;
  readonly #status: StatusWriter;
  readonly #localZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  /** By UID of the cron job: it is not planned again before its writes are answered. */
  readonly #writing = new Map<string, Promise<void>>();
  readonly #backoff: Backoff;
  /** What each cron job tried last: another run, or a changed object, is tried at once. */
  readonly #attempted = new Map<string, string>();

  constructor(deps: CronJobDeps) {
    this.#deps = deps;
    this.#children = {
      Job: childrenOf<Job>(deps, jobResource, (job) => job.owners, childOfJob),
      BroadcastJob: childrenOf<BroadcastJob>(
        deps,
        broadcastJobResource,
        (job) => job.metadata.ownerReferences,
        childOfBroadcastJob,
      ),
      ImageListPullJob: childrenOf<ImageListPullJob>(
        deps,
        imageListPullJobResource,
        (job) => job.metadata.ownerReferences,
        childOfImageListPullJob,
      ),
    };
    this.#status = statusWriterOf(deps);
    const { clock, options } = deps;
    this.#backoff = new Backoff({ clock, baseDelayMs: options.baseDelayMs, maxDelayMs: options.maxDelayMs });
  }

  coalescingMs(): number {
    return 0;
  }

  forget(_key: string, uid: string): void {
    this.#status.forget(uid);
    this.#backoff.forget(uid);
    this.#attempted.delete(uid);
  }

  async drained(): Promise<void> {
    while (this.#writing.size > 0) await Promise.allSettled(this.#writing.values());
  }

  async reconcile(key: string): Promise<Outcome> {
    const job = this.#deps.objects.get(key);
    if (job === undefined) return {};
    const { uid = "" } = job.metadata;
    // The end of its writes queues it again.
    if (this.#writing.has(uid)) return {};
    const plan = planAdvancedCronJob({
      job,
      children: Object.values(this.#children).flatMap((children) => [...children.of(uid)]),
      localZone: this.#localZone,
      now: this.#deps.clock.now(),
    });
    const hasWrites = plan.creation !== undefined || plan.deletions.length > 0;
    const attempt = `${job.metadata.generation ?? 0} ${plan.creation?.name ?? ""}`;
    const heldMs = hasWrites && this.#attempted.get(uid) === attempt ? this.#backoff.leftMs(uid) : 0;
    // A child that is made comes back through its cache, and with it a plan whose status has it.
    if (plan.creation === undefined || heldMs > 0) this.#report({ key, uid }, job.status, plan);
    if (heldMs > 0) return { wakeAfterMs: Math.min(heldMs, plan.wakeAfterMs ?? heldMs) };
    if (hasWrites) {
      this.#attempted.set(uid, attempt);
      this.#start(key, uid, this.#perform(job, plan));
    }
    return { wakeAfterMs: plan.wakeAfterMs };
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
    const owner: Owner = { namespace, uid };
    const options: WriteOptions = { priority: "high", flow: uid, signal: this.#deps.signal };
    await Promise.all(deletions.map((child) => this.#children[child.kind].remove(owner, child, options)));
    if (creation === undefined) return;
    await this.#children[creation.kind].create(owner, creation.name, creation.body, options);
  }

  #report(target: StatusTarget, before: object | undefined, plan: CronJobPlan): void {
    const heldMs = this.#status.offer(target, before, plan.status, 0, true);
    if (heldMs !== undefined) this.#deps.queue.addAfter(target.key, heldMs);
  }
}

const index = "cronJob";

function childrenOf<T>(
  deps: CronJobDeps,
  resource: Resource<T>,
  ownersOf: (object: T) => readonly OwnerReference[] | undefined,
  project: (object: T) => Child,
): Children {
  const { client, informers, queue } = deps;
  const cache: Cache<T> = informers.cacheOf(resource, {
    [index]: (object) => {
      const owner = controllingCronJob(ownersOf(object));
      return owner === undefined ? [] : [owner.uid];
    },
  });
  cache.subscribe(({ object }) => {
    const owner = controllingCronJob(ownersOf(object));
    if (owner === undefined) return;
    const { key } = resource.codec.identify(object);
    queue.add(`${key.slice(0, key.indexOf("/"))}/${owner.name}`);
  });
  return {
    *of(uid) {
      for (const object of cache.byIndex(index, uid)) yield project(object);
    },
    async create({ namespace, uid }, name, body, options) {
      try {
        cache.writeBack(await client.create(resource, namespace, body, options));
      } catch (error) {
        if (!isKubeError(error, "AlreadyExists") && !(isKubeError(error) && error.ambiguous)) throw error;
        const found = await client.get(resource, { namespace, name }, options);
        if (controllingCronJob(ownersOf(found))?.uid !== uid) throw error;
        cache.writeBack(found);
      }
    },
    async remove({ namespace }, { name, uid }, options) {
      const ref = { namespace, name };
      try {
        const left = await client.delete(resource, ref, { ...options, uid, propagationPolicy: "Background" });
        if (left === undefined) cache.remove(`${namespace}/${name}`, uid);
        else cache.writeBack(left);
      } catch (error) {
        // Gone, or replaced by another of its name: deleted as far as we care.
        if (!isKubeError(error, "NotFound", "Conflict")) throw error;
        cache.remove(`${namespace}/${name}`, uid);
      }
    },
  };
}
