/**
 * The controller of one PersistentPodState in its shell, as far as it comes with all that it has heard. It is started again each
 * time and hears everything once more, because what waits for an answer cannot be copied.
 */
import { persistentPodStateKind } from "../../controller/kinds/persistent_pod_state/index.ts";
import { objectAt, textAt } from "../../controller/native/json_fields.ts";
import { nativeStatefulSetResource } from "../../controller/native/stateful_set.ts";
import { statefulSetResource } from "../../controller/plan/resources.ts";
import { CachesByScope } from "../../controller/runtime/informers.ts";
import type { KindDeps } from "../../controller/runtime/kind.ts";
import { enqueueItself } from "../../controller/runtime/owner_queues.ts";
import type { Reconciler, Result } from "../../controller/runtime/reconciler.ts";
import { Shell } from "../../controller/runtime/shell.ts";
import type { PersistentPodState } from "../../crds/index.ts";
import { type JsonObject, jsonEqual } from "../../kube/core/index.ts";
import { Cache, type Codec, nodeResource, podResource } from "../../kube/index.ts";
import { kindDeps } from "../controller/kind_deps_builder.ts";
import { testClock } from "../kube/fake_clock.ts";
import { CountedQueue, type List, Listing } from "./heard_controller.ts";
import { PendingRequests, type Reply, type Request } from "./pending_requests.ts";
import { put } from "./pull_state.ts";
import { isGoing, isReady, NAME, NAMESPACE, nodeOf, ownerOf, type Stored } from "./records_server.ts";

export type Heard =
  /** `watch`: which one tells of it. */
  | { readonly is: "news"; readonly watch: Watch; readonly object: JsonObject; readonly isGone: boolean }
  /** The pods of the workload's selector. */
  | { readonly is: "list"; readonly pods: readonly JsonObject[]; readonly version: string }
  | { readonly is: "answer"; readonly request: Request; readonly reply: Reply }
  /** It takes its key from the queue. */
  | { readonly is: "turn" }
  /** Until something is due. */
  | { readonly is: "time" };

export type Watch = "record" | "workload" | "pods" | "nodes";

export type MakeReconciler = (deps: KindDeps<PersistentPodState>) => Reconciler<PersistentPodState>;

/** What it does by now. */
export interface Doing {
  readonly requests: readonly Request[];
  readonly mayPass: boolean;
  readonly isPassing: boolean;
  /** Whether it follows the pods. */
  readonly list: List;
  readonly dueInMs: number | undefined;
  readonly seen: Stored;
  /** Equal where all that it remembers is. */
  readonly memory: string;
}

export const nothingSeen: Stored = {
  record: undefined,
  workload: undefined,
  pods: new Map(),
  nodes: new Map(),
};

const KEY = `${NAMESPACE}/${NAME}`;
/** Between two writes of a status (controller/rollout/delays.ts). */
const PAUSE_MS = 25;
/** No write of a status is held back for longer (status_writer.ts). */
const LONGEST_MS = 30_000;

export async function doingOf(heard: readonly Heard[], make: MakeReconciler): Promise<Doing> {
  const controller = new HeardRecord(make);
  for (const each of heard) {
    controller.hear(each);
    await new Promise((resolve) => setImmediate(resolve));
    controller.note(each);
  }
  return controller.doing;
}

class HeardRecord {
  readonly #requests = new PendingRequests();
  readonly #clock = testClock();
  readonly #queue = new CountedQueue({ clock: this.#clock });
  readonly #objects = new Cache<PersistentPodState>(persistentPodStateKind.resource.codec);
  readonly #advanced = new Cache(statefulSetResource.codec);
  readonly #native = new Cache(nativeStatefulSetResource.codec);
  readonly #pods = new Listing(podResource, KEY);
  readonly #deps: KindDeps<PersistentPodState>;
  readonly #shell: Shell<PersistentPodState>;
  #seen = nothingSeen;
  #planned: Result | undefined;
  /** Whether its status was there once nothing was on its way. */
  #isStored = false;
  /** Annotations of the workload that no pass has acted on yet, and those that came while one did. */
  #asked: { before: readonly string[]; meanwhile: readonly string[] } = { before: [], meanwhile: [] };
  /** What failed since it last went well. */
  #failures: readonly string[] = [];
  #status: StatusWrites = noWrites;

  constructor(make: MakeReconciler) {
    const { resource } = persistentPodStateKind;
    const caches = new CachesByScope();
    caches.set(resource, {}, this.#objects);
    caches.set(statefulSetResource, {}, this.#advanced);
    caches.set(nativeStatefulSetResource, {}, this.#native);
    this.#deps = {
      ...kindDeps(resource, this.#requests.client, this.#clock),
      queue: this.#queue,
      objects: this.#objects,
      selectedPods: this.#pods,
      informers: {
        cacheOf: (of, indexes = {}) => {
          const cache = caches.get(of, {}) ?? new Cache(of.codec);
          for (const [name, valuesOf] of Object.entries(indexes)) cache.addIndex(name, valuesOf);
          return cache;
        },
      },
    };
    const reconciler = make(this.#deps);
    const noted = (result: Result | undefined): Result | undefined => {
      this.#planned = result;
      this.#isStored = false;
      return result;
    };
    this.#shell = new Shell(this.#deps, {
      forget: (key, uid) => reconciler.forget?.(key, uid),
      executed: (...all) => reconciler.executed?.(...all),
      reconcile: async (...all) => noted(await reconciler.reconcile(...all)),
      ...(reconciler.remembersByStatus === true ? { remembersByStatus: true } : {}),
      reconcileAbsent: async (key) => noted(await reconciler.reconcileAbsent?.(key)),
    });
    this.#objects.subscribe((change) =>
      enqueueItself(persistentPodStateKind, this.#queue, this.#shell, change),
    );
  }

  hear(heard: Heard): void {
    switch (heard.is) {
      case "news":
        this.#hearNews(heard.watch, heard.object, heard.isGone);
        break;
      case "list":
        this.#seen = { ...this.#seen, pods: new Map(heard.pods.map((pod) => [nameOf(pod), pod])) };
        this.#pods.listed(heard.pods, heard.version);
        break;
      case "answer":
        this.#requests.answer(heard.request.id, heard.reply);
        break;
      case "turn":
        void this.#pass();
        break;
      case "time":
        this.#clock.skip((this.#clock.nextAt ?? 0) - this.#clock.monotonic());
        break;
    }
  }

  #hearNews(watch: Watch, object: JsonObject, isGone: boolean): void {
    const present = isGone ? undefined : object;
    const seen = this.#seen;
    switch (watch) {
      case "record":
        tell(this.#objects, persistentPodStateKind.resource.codec, object, isGone);
        break;
      case "workload":
        this.#noteAsked(present);
        this.#seen = { ...seen, workload: present };
        if (object["apiVersion"] === "apps/v1")
          tell(this.#native, nativeStatefulSetResource.codec, object, isGone);
        else tell(this.#advanced, statefulSetResource.codec, object, isGone);
        break;
      case "pods":
        this.#seen = { ...seen, pods: put(seen.pods, nameOf(object), present) };
        this.#pods.hear(object, isGone);
        break;
      case "nodes":
        this.#seen = { ...seen, nodes: put(seen.nodes, nameOf(object), present) };
        tell(this.#deps.caches.nodes, nodeResource.codec, object, isGone);
        break;
    }
  }

  #noteAsked(workload: JsonObject | undefined): void {
    if (workload === undefined) return;
    const annotations = annotationsOf(workload);
    if (this.#seen.workload !== undefined && jsonEqual(annotations, annotationsOf(this.#seen.workload)))
      return;
    const text = JSON.stringify(annotations);
    const { before, meanwhile } = this.#asked;
    this.#asked = this.#queue.isPassing
      ? { before, meanwhile: [...meanwhile, text] }
      : { before: [...before, text], meanwhile };
  }

  async #pass(): Promise<void> {
    const failures = this.#failures.length;
    await this.#queue.pass((key) => this.#shell.reconcile(key));
    const isDone = this.#failures.length === failures;
    if (isDone) this.#failures = [];
    const isOver = isDone && this.#planned?.requeueAfterMs === undefined;
    const { before, meanwhile } = this.#asked;
    this.#asked = { before: isOver ? meanwhile : [...before, ...meanwhile], meanwhile: [] };
  }

  /** What `doing` tells of its memory, once everything has come to rest. */
  note(heard: Heard): void {
    const record = this.#objects.get(KEY);
    const uid = record?.metadata.uid ?? "";
    const { pods } = this.#pods.state === "held" ? this.#seen : nothingSeen;
    this.#seen = { ...this.#seen, record, pods };
    const now = this.#clock.monotonic();
    if (this.#status.uid !== uid) this.#status = { ...noWrites, uid };
    const sent = this.#requests.open.findLast(({ subresource }) => subresource === "status");
    if (sent === undefined && jsonEqual(record?.status, this.#planned?.status)) this.#isStored = true;
    if (sent !== undefined && sent.id > this.#status.last)
      this.#status = { ...this.#status, last: sent.id, sentAt: now };
    if (heard.is !== "answer") return;
    const { reply, request } = heard;
    const failure = "error" in reply ? [reply.error] : [];
    if (request.subresource !== "status") this.#failures = [...this.#failures, ...failure];
    else {
      const failures = failure.length === 0 ? [] : [...this.#status.failures, ...failure];
      this.#status = { ...this.#status, failures, failedAt: now };
    }
  }

  get doing(): Doing {
    const { nextAt } = this.#clock;
    const now = this.#clock.monotonic();
    const { isPassing, isAddedAgain, depth } = this.#queue;
    const { failures, sentAt, failedAt } = this.#status;
    const { record, workload, pods, nodes } = this.#seen;
    return {
      requests: this.#requests.open,
      mayPass: depth > 0,
      isPassing,
      list: this.#pods.state,
      dueInMs: nextAt === undefined ? undefined : nextAt - now,
      seen: this.#seen,
      memory: JSON.stringify([
        isPassing && [isAddedAgain, this.#planned],
        [this.#planned?.status, this.#isStored],
        Math.max(0, sentAt + PAUSE_MS - now),
        [this.#failures, failures, failures.length > 0 && Math.max(-LONGEST_MS, failedAt - now)],
        this.#asked,
        [
          textOf(record ?? {}),
          textOf(workload ?? {}),
          [...pods.values()].map(textOfPod).sort(),
          textOf([...nodes].sort()),
        ],
      ]),
    };
  }
}

interface StatusWrites {
  /** Of the object that they are about. */
  readonly uid: string;
  readonly last: number;
  readonly sentAt: number;
  readonly failures: readonly string[];
  readonly failedAt: number;
}

const noWrites: StatusWrites = {
  uid: "",
  last: -1,
  sentAt: Number.NEGATIVE_INFINITY,
  failures: [],
  failedAt: Number.NEGATIVE_INFINITY,
};

function tell<T>(cache: Cache<T>, codec: Codec<T>, heard: JsonObject, isGone: boolean): void {
  const object = codec.decode(Buffer.from(JSON.stringify(heard)), "application/json");
  const { key, uid, version } = codec.identify(object);
  if (isGone) cache.remove(key, uid, version);
  else cache.upsert(object);
}

function nameOf(object: JsonObject): string {
  return textAt(objectAt(object, "metadata"), "name");
}

function annotationsOf(object: JsonObject): JsonObject {
  return objectAt(objectAt(object, "metadata"), "annotations");
}

/** But for versions. */
export function textOf(value: object): string {
  return JSON.stringify(value, (key, part: unknown) => (key === "resourceVersion" ? undefined : part));
}

/** What is still of interest of a pod: what admission made of it is, until it has a node. */
export function textOfPod(pod: JsonObject): string {
  const { uid: _, ...metadata } = objectAt(pod, "metadata");
  return nodeOf(pod) === ""
    ? textOf({ ...pod, metadata })
    : `${nameOf(pod)} ${nodeOf(pod)} ${ownerOf(pod)} ${isReady(pod)} ${isGoing(pod)}`;
}
