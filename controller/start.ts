/** Starts the controllers of one process: caches, watches, queues and workers of every kind. */
import type { ImagePullJob } from "../crds/index.ts";
import type { KubeObject } from "../kube/core/index.ts";
import {
  type Change,
  type Client,
  type Clock,
  type ControllerRevision,
  controllerRevisionResource,
  createEvents,
  type Events,
  isKubeError,
  type Log,
  type Metrics,
  nodeResource,
  nullMetrics,
  type Outcome,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaimResource,
  podResource,
  queueObserver,
  type Random,
  type Reader,
  type Resource,
  runController,
  serverVersion,
  WorkQueue,
} from "../kube/index.ts";
import type { Refusal } from "./admission/refusals.ts";
import { everything, type Holding, orphanKeys, type SharedCaches, sharedCaches } from "./caches.ts";
import { SharedInformers } from "./informers.ts";
import type {
  Caches,
  Kind,
  KindDeps,
  KindShell,
  PlainController,
  ServerFeatures,
  SharedDeps,
} from "./kind.ts";
import { plainControllers, shardedKinds, visitKinds } from "./kinds.ts";
import type { ControllerOptions } from "./options.ts";
import { BudgetGuard } from "./pod_unavailable_budget/guard.ts";
import { imagePullJobResource, nodeImageResource } from "./resources.ts";
import type { CreatedResource } from "./rollout/actions.ts";
import type { SeenPullJob } from "./rollout/image_wait.ts";
import { type SelectablePod, SelectedPods } from "./selected_pods.ts";
import { owns, type Shard, wholeCluster } from "./shard.ts";
import { OWNED_BY_ANNOTATION } from "./stateful_set/index.ts";

export interface ControllersDeps {
  client: Client;
  clock: Clock;
  random: Random;
  log: Log;
  metrics?: Metrics;
  options: ControllerOptions;
  /** What is reconciled here; everything by default. */
  shard?: Shard;
  /** Counts and audits what a budget refused to these controllers. */
  refused?(refusal: Refusal): void;
}

export interface Controllers {
  /** Resolves when every cache is filled and the workers run; rejects when that is not possible. */
  synced: Promise<void>;
  /** Ends the workers, lets writes in flight finish (up to `graceMs`), then cuts what is left. */
  stop(graceMs?: number): Promise<void>;
}

const GROUP = "apps.kruise.io";
const STATEFUL_SET = "StatefulSet";
const KINDS_WITH_REVISIONS = ["CloneSet", "DaemonSet", STATEFUL_SET];
const DEFAULT_WORKERS = 3;
const DEFAULT_GRACE_MS = 5000;

const created: Readonly<Record<CreatedResource, Resource<KubeObject>>> = {
  imagepulljobs: imagePullJobResource,
};

export function startControllers(deps: ControllersDeps): Controllers {
  const starting = new Starting(deps);
  return { synced: starting.run(), stop: (graceMs) => starting.stop(graceMs ?? DEFAULT_GRACE_MS) };
}

/** One kind at work. */
interface Running {
  queue: WorkQueue;
  drained(): Promise<void>;
  stopped: Promise<void>;
}

class Starting {
  readonly #deps: ControllersDeps;
  readonly #shard: Shard;
  readonly #shared: SharedCaches;
  readonly #informers: SharedInformers;
  readonly #running: Running[] = [];
  /** Aborts every request that is still under way. */
  readonly #cut = new AbortController();
  readonly #stopping = new AbortController();
  /** By kind of the controlling owner: an owner reference to the key in that kind's queue. */
  readonly #wake = new Map<string, (key: string) => void>();
  readonly #events: Events;
  readonly #mayDisrupt: ((pod: Pod) => Promise<boolean>) | undefined;
  /** By the resource object, which says in what projection. */
  readonly #selections = new Map<unknown, { stop(): Promise<void> }>();

  constructor(deps: ControllersDeps) {
    this.#deps = deps;
    this.#shard = deps.shard ?? wholeCluster;
    this.#shared = sharedCaches(holdingOf(this.#shard));
    const { client, clock, random, log, metrics } = deps;
    this.#events = createEvents({ client, clock, random, log, metrics: metrics ?? nullMetrics });
    this.#mayDisrupt = this.#budgetQuestion();
    this.#informers = new SharedInformers({
      client,
      clock,
      random,
      log,
      metrics: metrics ?? nullMetrics,
      namespace: deps.options.namespace,
    });
  }

  async run(): Promise<void> {
    const server = await this.#serverFeatures();
    const { pods, claims, revisions, nodes } = this.#shared;
    const { PreDownloadImageForInPlaceUpdate, PreDownloadImageForDaemonSetUpdate } = this.#deps.options.gates;
    const jobs =
      server.imagePullJobs && (PreDownloadImageForInPlaceUpdate || PreDownloadImageForDaemonSetUpdate)
        ? this.#informers.cacheOf(imagePullJobResource, { controller: controllerUids })
        : undefined;
    const nodeImages = jobs === undefined ? undefined : this.#informers.cacheOf(nodeImageResource);
    const caches: Caches = {
      pods,
      claims,
      revisions,
      nodes,
      pullJobs: (uid) => pullJobsOf(jobs, uid),
      pullJobWritten: (job) => isPullJob(job) && jobs?.writeBack(job),
      nodeImage: (node) => nodeImages?.get(node),
    };
    jobs?.subscribe((change) => this.#wakePullers(change));
    this.#informers.watch(podResource, pods);
    this.#informers.watch(persistentVolumeClaimResource, claims);
    this.#informers.watch(controllerRevisionResource, revisions);
    this.#informers.watch(nodeResource, nodes);
    const served = await this.#servedKinds();
    const begin: (() => void)[] = [];
    visitKinds((kind) => {
      if (served.has(kind.kind)) begin.push(this.#prepare(kind, caches, server));
    });
    for (const controller of plainControllers) {
      if (this.#shard.index === 0 && controller.enabled(this.#deps.options.gates))
        begin.push(this.#preparePlain(controller, caches, server));
    }
    this.#wakeOwners();
    await this.#informers.synced();
    if (!this.#stopping.signal.aborted) for (const start of begin) start();
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    for (const { queue } of this.#running) queue.stop();
    this.#informers.stop();
    for (const selection of this.#selections.values()) void selection.stop();
    const drained = Promise.all(this.#running.map(({ drained, stopped }) => stopped.then(drained)));
    const waiting = new AbortController();
    const grace = this.#deps.clock.sleep(graceMs, waiting.signal).catch(() => undefined);
    await Promise.race([drained, grace]);
    // A sleep that nobody waits for any more would keep the process alive.
    waiting.abort();
    this.#cut.abort();
    await this.#events.stop();
  }

  async #serverFeatures(): Promise<ServerFeatures> {
    const { client } = this.#deps;
    const version = await serverVersion(client);
    return {
      resizeSubresource: version.major > 1 || version.minor >= 32,
      imagePullJobs: await this.#informers.serves(imagePullJobResource),
    };
  }

  /** A kind whose definition is not installed is left out until the next start (spec platform 4.1, step 4). */
  async #servedKinds(): Promise<ReadonlySet<string>> {
    const { log, options } = this.#deps;
    const asked: Promise<string | undefined>[] = [];
    visitKinds((kind) => {
      if (kind.enabled?.(options.gates) === false || !(kind.sharded || this.#shard.index === 0)) return;
      asked.push(
        this.#informers.serves(kind.resource).then((served) => {
          if (served) return kind.kind;
          log.warn("a kind is not served and therefore not reconciled", { kind: kind.kind });
          return undefined;
        }),
      );
    });
    return new Set((await Promise.all(asked)).filter((kind) => kind !== undefined));
  }

  /** Spec protection, rule 22: as `kruise-manager`, for real. */
  #budgetQuestion(): ((pod: Pod) => Promise<boolean>) | undefined {
    const { client, clock, random, options, refused } = this.#deps;
    const { gates } = options;
    if (!gates.PodUnavailableBudgetUpdateGate) return undefined;
    const guard = new BudgetGuard({
      client,
      clock,
      random,
      recorder: this.#events.from("pub-controller"),
      refused: (refusal) => refused?.(refusal),
      deletions: gates.PodUnavailableBudgetDeleteGate,
      updates: true,
      resizeApart: gates.InPlacePodVerticalScaling,
    });
    return async (pod) => (await guard.ask(pod, "UPDATE", "kruise-manager", false)).allowed;
  }

  #selectPods<P extends SelectablePod>(resource: Resource<P>): SelectedPods<P> {
    const held = this.#selections.get(resource);
    // The resource object is the same, hence the type of what it decodes.
    if (held !== undefined) return held as SelectedPods<P>;
    const { client, clock, random, log, metrics = nullMetrics, options } = this.#deps;
    const { namespace } = options;
    const selected = new SelectedPods<P>({ client, clock, random, log, metrics, resource, namespace });
    this.#selections.set(resource, selected);
    return selected;
  }

  #shareWith(name: string, caches: Caches, server: ServerFeatures): SharedDeps {
    const { client, clock, random, options, metrics = nullMetrics } = this.#deps;
    const { baseDelayMs, maxDelayMs } = options;
    const observer = queueObserver(metrics, name);
    return {
      client,
      clock,
      random,
      log: this.#deps.log.with({ controller: name }),
      recorder: this.#events.from(name),
      options,
      server,
      caches,
      informers: this.#informers,
      selectedPods: this.#selectPods(podResource),
      selectPods: (resource) => this.#selectPods(resource),
      mayDisrupt: this.#mayDisrupt,
      created,
      queue: new WorkQueue({ clock, baseDelayMs, maxDelayMs, observer }),
      signal: this.#cut.signal,
    };
  }

  #prepare<T extends KubeObject>(kind: Kind<T>, caches: Caches, server: ServerFeatures): () => void {
    const objects = this.#informers.cacheOf(kind.resource);
    const shared = this.#shareWith(kind.controllerName, caches, server);
    const deps: KindDeps<T> = { ...shared, objects, resource: kind.resource };
    const { queue } = deps;
    const shell = kind.shell(deps);
    this.#wake.set(kind.kind, (key) => queue.addAfter(key, shell.coalescingMs(key)));
    objects.subscribe((change) => onObject(kind, queue, shell, change));
    const reconcile = guarded(kind, deps, shell, this.#shard);
    return () =>
      this.#begin(kind.controllerName, kind.kind, queue, { reconcile, drained: () => shell.drained() });
  }

  #preparePlain(controller: PlainController, caches: Caches, server: ServerFeatures): () => void {
    const { controllerName } = controller;
    const deps = this.#shareWith(controllerName, caches, server);
    const shell = controller.shell(deps);
    return () => this.#begin(controllerName, controllerName, deps.queue, shell);
  }

  #begin(
    name: string,
    /** Name in the option `workers`. */
    workersOf: string,
    queue: WorkQueue,
    shell: Pick<KindShell, "reconcile" | "drained">,
  ): void {
    const { clock, options, metrics = nullMetrics } = this.#deps;
    const stopped = runController({
      name,
      queue,
      workers: options.workers[workersOf] ?? DEFAULT_WORKERS,
      reconcile: (key) => shell.reconcile(key),
      clock,
      log: this.#deps.log.with({ controller: name }),
      metrics,
      signal: this.#stopping.signal,
    });
    this.#running.push({ queue, drained: () => shell.drained(), stopped });
  }

  /** A change of a dependant wakes its owner, and the owner that it had before. */
  #wakeOwners(): void {
    const { pods, claims, revisions } = this.#shared;
    pods.subscribe((change) => {
      this.#wakeOwner(change.object);
      if (change.type === "changed" && change.before.controller?.uid !== change.object.controller?.uid) {
        this.#wakeOwner(change.before);
      }
    });
    claims.subscribe((change) => {
      this.#wakeReferenced(change);
      const set = change.object.annotations[OWNED_BY_ANNOTATION];
      if (set !== undefined) this.#wake.get(STATEFUL_SET)?.(`${change.object.namespace}/${set}`);
    });
    revisions.subscribe((change) => {
      this.#wakeReferenced(change);
      if (change.type === "removed") this.#wakeNamesakes(change.object);
    });
  }

  #wakeOwner(pod: Pod): void {
    const owner = pod.controller;
    if (owner === undefined) {
      // Whoever has this name among its pods' may adopt it, or wait for it to go.
      for (const key of orphanKeys(pod)) this.#wake.get(STATEFUL_SET)?.(key);
      return;
    }
    if (owner.group !== GROUP) return;
    this.#wake.get(owner.kind)?.(`${pod.namespace}/${owner.name}`);
  }

  /** Pods may wait for an image of which a job has news. */
  #wakePullers(change: Change<ImagePullJob>): void {
    const { metadata, status } = change.object;
    const before = change.type === "changed" ? change.before.status : undefined;
    const isNews =
      change.type !== "changed" ||
      before?.succeeded !== status?.succeeded ||
      before?.failed !== status?.failed ||
      before?.completionTime !== status?.completionTime;
    for (const { controller, kind, name } of isNews ? (metadata.ownerReferences ?? []) : []) {
      if (controller) this.#wake.get(kind)?.(`${metadata.namespace}/${name}`);
    }
  }

  /** A workload of another kind and the same name may have used the revision, too; it needs one of its own now. */
  #wakeNamesakes({ namespace, owners }: ControllerRevision): void {
    for (const owner of owners)
      for (const kind of KINDS_WITH_REVISIONS) this.#wake.get(kind)?.(`${namespace}/${owner.name}`);
  }

  #wakeReferenced(change: Change<PersistentVolumeClaim> | Change<ControllerRevision>): void {
    for (const owner of change.object.owners) {
      if (!owner.controller || owner.apiVersion.split("/")[0] !== GROUP) continue;
      this.#wake.get(owner.kind)?.(`${change.object.namespace}/${owner.name}`);
    }
  }
}

function onObject<T extends KubeObject>(
  kind: Kind<T>,
  queue: WorkQueue,
  shell: KindShell,
  change: Change<T>,
): void {
  const { key, uid } = kind.resource.codec.identify(change.object);
  if (change.type === "removed") {
    shell.forget(key, uid);
    return;
  }
  if (change.type === "added" || isWanted(kind, change.before, change.object)) queue.add(key, "high");
}

/** Our own status writes come back as changes: only what a plan reads is worth a new one. */
function isWanted<T extends KubeObject>(kind: Kind<T>, before: T, after: T): boolean {
  const a = before.metadata;
  const b = after.metadata;
  return (
    a.generation !== b.generation ||
    a.deletionTimestamp !== b.deletionTimestamp ||
    JSON.stringify([a.labels, a.annotations]) !== JSON.stringify([b.labels, b.annotations]) ||
    kind.statusMatters(before, after)
  );
}

/**
 * An object that a plan cannot work with (stored before an upgrade, edited around admission) is told about
 * once a generation by an event on itself; all others go on.
 */
function guarded<T extends KubeObject>(
  kind: Kind<T>,
  deps: KindDeps<T>,
  shell: KindShell,
  shard: Shard,
): (key: string) => Promise<Outcome> {
  const told = new Map<string, number>();
  return async (key) => {
    const uid = deps.objects.get(key)?.metadata.uid;
    if (kind.sharded && uid !== undefined && !owns(shard, uid)) return {};
    try {
      const outcome = await shell.reconcile(key);
      told.delete(key);
      return outcome;
    } catch (error) {
      // What the server refused is tried again; that is no matter of the object.
      if (isKubeError(error)) throw error;
      const object = deps.objects.get(key);
      const generation = object?.metadata.generation ?? 0;
      if (object !== undefined && told.get(key) !== generation) {
        told.set(key, generation);
        const message = `${kind.kind} cannot be reconciled: ${error instanceof Error ? error.message : String(error)}`;
        deps.recorder.event(
          {
            apiVersion: `${kind.resource.group}/${kind.resource.version}`,
            kind: kind.kind,
            ...(object.metadata.namespace ? { namespace: object.metadata.namespace } : {}),
            name: object.metadata.name ?? "",
            uid: object.metadata.uid ?? "",
            resourceVersion: object.metadata.resourceVersion ?? "",
          },
          "Warning",
          "FailedReconcile",
          message,
        );
      }
      throw error;
    }
  };
}

/** With several shards, dependants of a kind that is not spread are all held by shard 0. */
function holdingOf(shard: Shard): Holding {
  if (shard.count === 1) return everything;
  const sharded = shardedKinds();
  const isFirst = shard.index === 0;
  return { owner: (kind, uid) => (sharded.has(kind) ? owns(shard, uid) : isFirst), others: isFirst };
}

function controllerUids(object: KubeObject): string[] {
  return (object.metadata.ownerReferences ?? [])
    .filter((owner) => owner.controller)
    .map((owner) => owner.uid);
}

function* pullJobsOf(jobs: Reader<ImagePullJob> | undefined, ownerUid: string): Iterable<SeenPullJob> {
  if (jobs === undefined) return;
  for (const job of jobs.byIndex("controller", ownerUid)) {
    yield { name: job.metadata.name ?? "", uid: job.metadata.uid ?? "", job };
  }
}

function isPullJob(object: KubeObject): object is ImagePullJob {
  return object.kind === imagePullJobResource.kind && "spec" in object;
}
