/**
 * The controller of one ResourceDistribution in its shell, as far as it comes with all that it has heard. It is started again each
 * time and hears everything once more, because what waits for an answer cannot be copied.
 */
import { resourceDistributionKind } from "../../controller/kinds/resource_distribution/index.ts";
import { CachesByScope } from "../../controller/runtime/informers.ts";
import type { KindDeps } from "../../controller/runtime/kind.ts";
import { enqueueItself } from "../../controller/runtime/owner_queues.ts";
import type { Reconciler } from "../../controller/runtime/reconciler.ts";
import { type SelectableObject, selectionsByResource } from "../../controller/runtime/selected_objects.ts";
import { Shell } from "../../controller/runtime/shell.ts";
import type { ResourceDistribution } from "../../crds/index.ts";
import { type JsonObject, refOf } from "../../kube/core/index.ts";
import { Cache, type Namespace, namespaceResource, type Resource } from "../../kube/index.ts";
import { kindDeps } from "../controller/kind_deps_builder.ts";
import { testClock } from "../kube/fake_clock.ts";
import { NAME } from "./distribution_server.ts";
import { CountedQueue, type List, Listing } from "./heard_controller.ts";
import { PendingRequests, type Reply, type Request } from "./pending_requests.ts";

export type Heard =
  | { readonly is: "distribution"; readonly object: ResourceDistribution; readonly isGone: boolean }
  | { readonly is: "namespace"; readonly name: string; readonly object: Namespace; readonly isGone: boolean }
  | { readonly is: "copy"; readonly name: string; readonly object: JsonObject; readonly isGone: boolean }
  /** All objects of the copies' name; undefined: they may not be listed. */
  | { readonly is: "list"; readonly copies: readonly JsonObject[] | undefined; readonly version: string }
  | { readonly is: "answer"; readonly request: Request; readonly reply: Reply }
  /** It takes its key from the queue. */
  | { readonly is: "turn" }
  /** Until something is due. */
  | { readonly is: "time" };

export type MakeReconciler = (deps: KindDeps<ResourceDistribution>) => Reconciler<ResourceDistribution>;

/** What it does by now. */
export interface Doing {
  readonly requests: readonly Request[];
  readonly mayPass: boolean;
  readonly isPassing: boolean;
  /** Whether it follows the objects of the copies' name. */
  readonly list: List;
  readonly dueInMs: number | undefined;
  readonly distribution: ResourceDistribution | undefined;
  readonly namespaces: ReadonlyMap<string, Namespace>;
  /** Which ones it holds, by namespace. */
  readonly copies: ReadonlyMap<string, { readonly uid: string; readonly resourceVersion: string }>;
  /** Equal where all that it remembers is. */
  readonly memory: string;
}

const KEY = "d";
/** For so long what was created may be unseen (SEEN_WITHIN_MS). */
const UNSEEN_MS = 10_000;
/** Between two writes of a status (controller/rollout/delays.ts). */
const PAUSE_MS = 25;

export async function doingOf(heard: readonly Heard[], make: MakeReconciler): Promise<Doing> {
  const controller = new HeardDistribution(make);
  for (const each of heard) {
    controller.hear(each);
    await new Promise((resolve) => setImmediate(resolve));
    controller.note(each);
  }
  return controller.doing;
}

class HeardDistribution {
  readonly #requests = new PendingRequests();
  readonly #clock = testClock();
  readonly #queue = new CountedQueue({ clock: this.#clock });
  readonly #namespaces = new LookedAt(namespaceResource.codec);
  readonly #objects = new Cache<ResourceDistribution>(resourceDistributionKind.resource.codec);
  readonly #listings: AnyListing[] = [];
  readonly #shell: Shell<ResourceDistribution>;
  #offered: object | undefined;
  /** By namespace: what it saw at its last look, and what came of it. */
  readonly #looks = new Map<string, string>();
  readonly #reads = new Map<string, string>();
  #lastStatus = { id: -1, at: Number.NEGATIVE_INFINITY };
  /** Namespaces that will be looked at, and those whose new copies nothing has shown. */
  readonly #touched = new Set<string>();
  readonly #unseen = new Map<string, number>();

  constructor(make: MakeReconciler) {
    const { resource } = resourceDistributionKind;
    const caches = new CachesByScope();
    caches.set(namespaceResource, {}, this.#namespaces);
    const listing = <T extends SelectableObject>(of: Resource<T>) => {
      const made = new Listing(of, KEY);
      this.#listings.push(made);
      return made;
    };
    const deps: KindDeps<ResourceDistribution> = {
      ...kindDeps(resource, this.#requests.client, this.#clock),
      queue: this.#queue,
      objects: this.#objects,
      informers: { cacheOf: (of) => caches.get(of, {}) ?? new Cache(of.codec) },
      selectObjects: selectionsByResource(listing),
    };
    const reconciler = make(deps);
    this.#shell = new Shell(deps, {
      writes: reconciler.writes ?? {},
      forget: (key, uid) => reconciler.forget?.(key, uid),
      executed: (...all) => reconciler.executed?.(...all),
      reconcile: async (object, key) => {
        const result = await reconciler.reconcile(object, key);
        this.#offered = result?.status ?? this.#offered;
        return result;
      },
    });
    this.#objects.subscribe((change) =>
      enqueueItself(resourceDistributionKind, this.#queue, this.#shell, change),
    );
  }

  hear(heard: Heard): void {
    const before = this.#queue.added;
    switch (heard.is) {
      case "distribution": {
        const { object, isGone } = heard;
        const { key, uid, version } = resourceDistributionKind.resource.codec.identify(object);
        if (isGone) this.#objects.remove(key, uid, version);
        else this.#objects.upsert(object);
        break;
      }
      case "namespace": {
        const { object, isGone } = heard;
        if (isGone) this.#namespaces.remove(object.name, object.uid, object.resourceVersion);
        else this.#namespaces.upsert(object);
        break;
      }
      case "copy":
        this.#unseen.delete(heard.name);
        this.#listing?.hear(heard.object, heard.isGone);
        break;
      case "list":
        this.#listing?.listed(heard.copies, heard.version);
        break;
      case "answer":
        this.#requests.answer(heard.request.id, heard.reply);
        break;
      case "turn":
        void this.#queue.pass((key) => this.#shell.reconcile(key));
        break;
      case "time":
        this.#clock.skip((this.#clock.nextAt ?? 0) - this.#clock.monotonic());
        break;
    }
    if ("name" in heard && this.#queue.added > before) this.#touched.add(heard.name);
  }

  /** What `doing` tells of its memory, once everything has come to rest. */
  note(heard: Heard): void {
    const now = this.#clock.monotonic();
    const last = this.#requests.open.at(-1);
    if (last?.subresource === "status" && last.id > this.#lastStatus.id)
      this.#lastStatus = { id: last.id, at: now };
    if (heard.is === "answer") this.#noteAnswer(heard.request, heard.reply);
    for (const [name, until] of this.#unseen)
      if (this.#namespaces.looked.has(name) || until <= now) this.#unseen.delete(name);
    for (const name of this.#namespaces.looked) {
      const seen = this.#namespaces.get(name);
      const copy = this.#reads.get(name) ?? this.#copyIn(name);
      const generation = this.#objects.get(KEY)?.metadata.generation;
      this.#looks.set(name, textOf([seen, copy, generation]));
      this.#touched.delete(name);
      this.#reads.delete(name);
    }
    this.#namespaces.looked.clear();
  }

  #noteAnswer({ verb, namespace, subresource }: Request, reply: Reply): void {
    if (namespace === "" || subresource !== undefined) return;
    const outcome = "error" in reply ? reply.error : "done";
    if (verb === "get") this.#reads.set(namespace, textOf(reply));
    else this.#looks.set(namespace, `${this.#looks.get(namespace)} ${verb} ${outcome}`);
    if (verb === "create" && outcome === "done")
      this.#unseen.set(namespace, this.#clock.monotonic() + UNSEEN_MS);
  }

  get doing(): Doing {
    const { nextAt } = this.#clock;
    const now = this.#clock.monotonic();
    return {
      requests: this.#requests.open,
      mayPass: this.#queue.depth > 0,
      isPassing: this.#queue.isPassing,
      list: this.#listing?.state ?? "none",
      dueInMs: nextAt === undefined ? undefined : nextAt - now,
      distribution: this.#objects.get(KEY),
      namespaces: new Map(Array.from(this.#namespaces.values(), (each) => [each.name, each])),
      copies: this.#copies,
      memory: JSON.stringify([
        this.#queue.isPassing && this.#queue.isAddedAgain,
        this.#requests.open.some(({ subresource }) => subresource === "status") &&
          textOf(this.#offered ?? {}),
        Math.max(0, this.#lastStatus.at + PAUSE_MS - now),
        sorted(this.#looks),
        [...this.#touched].sort(),
        sorted(this.#unseen).map(([name, until]) => [name, until - now]),
        sorted(this.#reads),
        sorted(new Map(Array.from(this.#namespaces.values(), (each) => [each.name, textOf(each)]))),
        [...this.#copies.keys()].sort().map((name) => [name, this.#copyIn(name)]),
        textOf(this.#objects.get(KEY) ?? {}),
      ]),
    };
  }

  get #copies(): Doing["copies"] {
    const versions = [...(this.#listing?.versions ?? [])];
    return new Map(versions.map(([key, version]) => [refOf(key).namespace ?? "", version]));
  }

  #copyIn(namespace: string): string | undefined {
    const copy = this.#listing?.get(`${namespace}/${NAME}`);
    return copy && textOf(copy);
  }

  get #listing(): AnyListing | undefined {
    return this.#listings.find(({ state }) => state !== "none");
  }
}

/** Each look at a namespace reads it here. */
class LookedAt extends Cache<Namespace> {
  readonly looked = new Set<string>();

  override get(name: string): Namespace | undefined {
    this.looked.add(name);
    return super.get(name);
  }
}

type AnyListing = Pick<Listing<SelectableObject>, "state" | "listed" | "hear" | "get" | "versions">;

/** But for UIDs, versions and times. */
export function textOf(value: object): string {
  return JSON.stringify(value, (key, part: unknown) => (unseen.has(key) ? undefined : part));
}

const unseen = new Set(["uid", "resourceVersion", "lastTransitionTime"]);

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}
