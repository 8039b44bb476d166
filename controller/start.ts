/** Starts and stops the controllers of one process: caches, watches, queues and workers of every kind. */
import type { KubeObject } from "../kube/core/index.ts";
import {
  type Client,
  type Clock,
  controllerRevisionResource,
  createEvents,
  type Events,
  type Log,
  type MetricFamily,
  type Metrics,
  nodeResource,
  nullMetrics,
  type Outcome,
  persistentVolumeClaimResource,
  podResource,
  queueObserver,
  type Random,
  type Resource,
  runController,
  TerminatingNamespaces,
  WorkQueue,
} from "../kube/index.ts";
import { controllers, kinds, mapKinds, plainControllers } from "./kinds.ts";
import { writersInNamespaces, writersOf } from "./plan/owners.ts";
import { followImagePulls, type ImagePulls, noImagePulls } from "./rollout/images/image_pulls.ts";
import type { DisruptionGuard, PodGuardDeps } from "./runtime/admission/pod_admission.ts";
import type { Refusal } from "./runtime/admission/refusals.ts";
import { holdingOf, sharedCaches } from "./runtime/caches.ts";
import { SharedInformers, type SharedWatches } from "./runtime/informers.ts";
import type {
  AnyKind,
  Caches,
  Kind,
  KindDeps,
  PlainController,
  ServerFeatures,
  SharedCaches,
  SharedDeps,
} from "./runtime/kind.ts";
import { objectFamilies } from "./runtime/object_metrics.ts";
import type { ControllerOptions } from "./runtime/options.ts";
import { enqueueItself, OwnerQueues } from "./runtime/owner_queues.ts";
import { type SelectableObject, SelectedObjects, selectionsByResource } from "./runtime/selected_objects.ts";
import { serverFeatures } from "./runtime/server_features.ts";
import { owns, type Shard, wholeCluster } from "./runtime/shard.ts";
import { plainShellOf, Shell } from "./runtime/shell.ts";

export interface ControllersDeps {
  client: Client;
  clock: Clock;
  random: Random;
  log: Log;
  metrics?: Metrics;
  options: ControllerOptions;
  /** What is reconciled here; everything by default. */
  shard?: Shard;
  /** Those of the process; default: watches of its own. */
  watches?: SharedWatches | undefined;
  /** Counts and audits what a budget refused to these controllers. */
  refused?(refusal: Refusal): void;
}

export interface Controllers {
  /** Resolves when every cache is filled and the workers run; rejects when that is not possible. */
  synced: Promise<void>;
  /** What is told of the objects that are reconciled here, as the caches hold them now. */
  objectFamilies(): readonly MetricFamily[];
  /** Ends the workers, lets writes in flight finish (up to `graceMs`), then cuts what is left. */
  stop(graceMs?: number): Promise<void>;
}

const DEFAULT_WORKERS = 3;
const DEFAULT_GRACE_MS = 5000;

export function startControllers(deps: ControllersDeps): Controllers {
  const controllers = new ControllerSet(deps);
  return {
    synced: controllers.run(),
    objectFamilies: () => controllers.objectFamilies(),
    stop: (graceMs) => controllers.stop(graceMs ?? DEFAULT_GRACE_MS),
  };
}

/** One kind at work. */
interface Running {
  queue: WorkQueue;
  drained(): Promise<void>;
  stopped: Promise<void>;
}

class ControllerSet {
  readonly #deps: ControllersDeps & { metrics: Metrics };
  readonly #shard: Shard;
  readonly #shared: SharedCaches;
  readonly #informers: SharedInformers;
  readonly #running: Running[] = [];
  /** Aborts every request that is still under way. */
  readonly #cut = new AbortController();
  readonly #stopping = new AbortController();
  readonly #owners: OwnerQueues;
  readonly #events: Events;
  readonly #terminating: TerminatingNamespaces;
  readonly #mayDisrupt: DisruptionGuard | undefined;
  readonly #selections: { stop(): Promise<void> }[] = [];
  /** By kind. */
  readonly #families: (() => MetricFamily[])[] = [];

  constructor(deps: ControllersDeps) {
    const { clock, random, log, metrics = nullMetrics, options } = deps;
    this.#terminating = new TerminatingNamespaces({ client: deps.client, clock, random, log });
    const { client } = this.#terminating;
    this.#deps = { ...deps, client, metrics };
    this.#shard = deps.shard ?? wholeCluster;
    this.#owners = new OwnerQueues(options.systemNamespace);
    this.#events = createEvents({ client, clock, random, log, metrics });
    this.#mayDisrupt = this.#disruptionGuard();
    const { namespace } = options;
    const parts = { client, clock, random, log, metrics, namespace };
    this.#informers = new SharedInformers(parts, deps.watches);
    const holding = holdingOf(this.#shard, kinds, controllers);
    this.#shared = sharedCaches(holding, this.#informers.cacheOf(nodeResource));
  }

  async run(): Promise<void> {
    const server = await serverFeatures(this.#deps.client, this.#informers);
    const { pods, claims, revisions } = this.#shared;
    const caches: Caches = { ...this.#shared, ...this.#imagePulls(server) };
    this.#informers.watch(podResource, pods);
    this.#informers.watch(persistentVolumeClaimResource, claims);
    this.#informers.watch(controllerRevisionResource, revisions);
    const served = await this.#servedKinds();
    const begin = mapKinds((kind) => (served.has(kind) ? [this.#prepare(kind, caches, server)] : [])).flat();
    for (const controller of plainControllers) {
      if (this.#shard.index === 0 && controller.enabled(this.#deps.options.gates))
        begin.push(this.#preparePlain(controller, caches, server));
    }
    this.#owners.follow(this.#shared);
    this.#informers.start();
    // A watch that admission began may be interrupted: what the former leader wrote last is to be known.
    await this.#informers.caughtUp();
    if (!this.#stopping.signal.aborted) for (const start of begin) start();
  }

  objectFamilies(): MetricFamily[] {
    return this.#families.flatMap((familiesOf) => familiesOf());
  }

  #imagePulls({ imagePullJobs }: ServerFeatures): ImagePulls {
    const { gates } = this.#deps.options;
    if (!imagePullJobs || !kinds.some((kind) => kind.pullsImagesAhead?.(gates))) return noImagePulls;
    return followImagePulls(this.#informers, (job) => this.#owners.dependantChanged(job));
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    for (const { queue } of this.#running) queue.stop();
    this.#informers.stop();
    for (const selection of this.#selections) void selection.stop();
    if (graceMs === 0) this.#cut.abort();
    const drained = Promise.all(this.#running.map(({ drained, stopped }) => stopped.then(drained)));
    const waiting = new AbortController();
    const grace = this.#deps.clock.sleep(graceMs, waiting.signal).catch(() => undefined);
    await Promise.race([drained, grace]);
    // A sleep that nobody waits for any more would keep the process alive.
    waiting.abort();
    this.#cut.abort();
    await Promise.all([this.#events.stop(), this.#terminating.stop()]);
  }

  /** A kind whose definition is not installed is left out until the next start (spec platform 4.1, step 4). */
  async #servedKinds(): Promise<ReadonlySet<AnyKind>> {
    const { log, options } = this.#deps;
    const wanted = kinds.filter(
      (kind) => kind.enabled?.(options.gates) !== false && (kind.sharded || this.#shard.index === 0),
    );
    const served = await Promise.all(wanted.map(({ resource }) => this.#informers.serves(resource)));
    return new Set(
      wanted.filter(({ resource: { kind } }, index) => {
        if (!served[index]) log.warn("a kind is not served and therefore not reconciled", { kind });
        return served[index];
      }),
    );
  }

  /** Everything that guards pods is asked in turn. */
  #disruptionGuard(): DisruptionGuard | undefined {
    const { client, clock, random, options, refused } = this.#deps;
    const deps: PodGuardDeps = {
      client,
      writesFor: writersOf(client),
      clock,
      random,
      options,
      recorderOf: (controller) => this.#events.from(controller),
      refused: (refusal) => refused?.(refusal),
    };
    const guards = controllers.flatMap((controller) => controller.disruptionGuard?.(deps) ?? []);
    if (guards.length === 0) return undefined;
    return async (pod) => {
      for (const mayDisrupt of guards) if (!(await mayDisrupt(pod))) return false;
      return true;
    };
  }

  readonly #selectObjects = selectionsByResource(<T extends SelectableObject>(resource: Resource<T>) => {
    const { client, clock, random, log, metrics, options } = this.#deps;
    const { namespace } = options;
    const selected = new SelectedObjects<T>({ client, clock, random, log, metrics, resource, namespace });
    this.#selections.push(selected);
    return selected;
  });

  #shareWith(name: string, namespaced: boolean, caches: Caches, server: ServerFeatures): SharedDeps {
    const { client, clock, random, options, metrics } = this.#deps;
    const { baseDelayMs, maxDelayMs } = options;
    const observer = queueObserver(metrics, name);
    return {
      client,
      writesFor: namespaced ? writersInNamespaces(client) : writersOf(client),
      clock,
      random,
      log: this.#deps.log.with({ controller: name }),
      recorder: this.#events.from(name),
      options,
      server,
      caches,
      informers: this.#informers,
      selectedPods: this.#selectObjects(podResource),
      selectObjects: (resource) => this.#selectObjects(resource),
      mayDisrupt: this.#mayDisrupt,
      queue: new WorkQueue({ clock, baseDelayMs, maxDelayMs, observer }),
      signal: this.#cut.signal,
    };
  }

  #prepare<T extends KubeObject>(kind: Kind<T>, caches: Caches, server: ServerFeatures): () => void {
    const objects = this.#informers.cacheOf(kind.resource);
    const shared = this.#shareWith(kind.controllerName, kind.resource.namespaced, caches, server);
    const deps: KindDeps<T> = { ...shared, objects, resource: kind.resource };
    const { queue } = deps;
    this.#families.push(() => objectFamilies(kind, this.#owned(kind, objects.values())));
    const shell = new Shell(deps, kind.reconciler(deps));
    this.#owners.add(kind, (key) => queue.addAfter(key, shell.coalescingMs(key)));
    objects.subscribe((change) => enqueueItself(kind, queue, shell, change));
    const reconcile = async (key: string) => {
      const object = objects.get(key);
      return object !== undefined && !this.#owns(kind, object) ? {} : shell.reconcile(key);
    };
    return () => this.#begin(kind.controllerName, queue, reconcile, () => shell.drained());
  }

  /** Each object of a kind that is sharded belongs to one shard; shard 0 has all of the others. */
  #owns({ sharded }: AnyKind, { metadata: { uid } }: KubeObject): boolean {
    return !sharded || uid === undefined || owns(this.#shard, uid);
  }

  *#owned<T extends KubeObject>(kind: Kind<T>, objects: Iterable<T>): Generator<T> {
    for (const object of objects) if (this.#owns(kind, object)) yield object;
  }

  #preparePlain(controller: PlainController, caches: Caches, server: ServerFeatures): () => void {
    const { controllerName } = controller;
    const deps = this.#shareWith(controllerName, true, caches, server);
    const shell = plainShellOf(deps, controller.reconciler(deps));
    return () => this.#begin(controllerName, deps.queue, (key) => shell.reconcile(key));
  }

  #begin(
    name: string,
    queue: WorkQueue,
    reconcile: (key: string) => Promise<Outcome>,
    drained: () => Promise<void> = async () => undefined,
  ): void {
    const { clock, options, metrics } = this.#deps;
    const stopped = runController({
      name,
      queue,
      workers: options.workers[name] ?? DEFAULT_WORKERS,
      reconcile,
      clock,
      log: this.#deps.log.with({ controller: name }),
      metrics,
      signal: this.#stopping.signal,
    });
    this.#running.push({ queue, drained, stopped });
  }
}
