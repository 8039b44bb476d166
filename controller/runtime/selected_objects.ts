/**
 * Objects of any owner that objects of a kind select: pods above all, but also Secrets and workloads. Each selection is a watch
 * that the server limits by namespace, labels or fields. Equal selections share one, which starts when an object needs it and stops
 * when none does. The shared cache of pods holds only those of our own kinds, because all pods of a cluster, for the few that
 * are selected, would cost more than everything else together.
 */
import { formatSelector, type LabelSelector, type Labels, parseSelector } from "../../kube/core/index.ts";
import {
  Cache,
  type Change,
  type Client,
  type Clock,
  type Informer,
  isKubeError,
  type KubeError,
  type Log,
  type Metrics,
  type Pod,
  type Random,
  type Reader,
  type Resource,
  startInformer,
} from "../../kube/index.ts";

/** What the projection of an object must have. */
export interface SelectableObject {
  readonly labels: Labels;
  readonly uid: string;
}

export interface ObjectSelection {
  /** Empty: all namespaces. */
  readonly namespace: string;
  /** `all` has to be said: what an absent selector of an object means is for its kind to decide. */
  readonly labels: LabelSelector | "all";
  /** A field selector that the server knows for the resource, for example `spec.restartPolicy!=Always` for pods. */
  readonly fields?: string;
}

/** The objects of one selection. */
export interface SelectionReader<T> extends Reader<T> {
  /** What a write of one of them returned; ignored for objects that are not in the selection (any more). */
  writeBack(object: T): boolean;
  /** For `byIndex`. To add the same function under the same name once more changes nothing. */
  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void;
}

/** The needs of one kind; keys are those of its queue. */
export interface SelectionNeeds<T> {
  /**
   * From now on `key` needs these selections, and none that it needed before. Undefined until the server has sent
   * all of them: the key is enqueued then. Afterwards each change of their objects enqueues it.
   * Call it in each pass: for unchanged selections it costs their text. Throws ParseError for bad selectors.
   */
  need(key: string, selections: readonly ObjectSelection[]): readonly SelectionReader<T>[] | undefined;
  /** What `need` would return for the selections that the key needs already, without their text. */
  held(key: string): readonly SelectionReader<T>[] | undefined;
  /** Why a selection that `key` waits for is not listed: the server refuses it. The key is enqueued when that begins. */
  refusal(key: string): KubeError | undefined;
  /** Whether `key` needs any, complete or not. */
  has(key: string): boolean;
  /** `key` needs none any more. */
  release(key: string): void;
}

/** Objects of one resource by what objects of kinds select. */
export interface Selections<T> {
  /** The needs of one kind, whose keys `enqueue` puts into its queue. */
  needs(enqueue: EnqueueSelected<T>): SelectionNeeds<T>;
}

/** Makes one for each resource object, because that says in what projection the objects are held. */
export function selectionsByResource(
  make: <T extends SelectableObject>(resource: Resource<T>) => Selections<T>,
): <T extends SelectableObject>(resource: Resource<T>) => Selections<T> {
  const made = new Map<unknown, unknown>();
  return <T extends SelectableObject>(resource: Resource<T>) => {
    const selections = made.get(resource) ?? make(resource);
    made.set(resource, selections);
    // The resource object is the same, hence the type of what it decodes.
    return selections as Selections<T>;
  };
}

/** `change` is absent when the selection has just become complete. */
type EnqueueSelected<T> = (key: string, change?: Change<T>) => void;

interface SelectedObjectsDeps<T> {
  client: Client;
  clock: Clock;
  random: Random;
  log: Log;
  metrics: Metrics;
  resource: Resource<T>;
  /** The only namespace that this process cares for; empty for all. */
  namespace: string;
}

/** One watch and whom it serves. */
interface Shared<T extends SelectableObject> {
  readonly objects: SelectionCache<T>;
  readonly informer: Informer;
  readonly holders: Map<EnqueueSelected<T>, Set<string>>;
  complete: boolean;
  /** Of a first list that the server refuses. */
  refusal: KubeError | undefined;
}

export class SelectedObjects<T extends SelectableObject = Pod> implements Selections<T> {
  readonly #deps: SelectedObjectsDeps<T>;
  readonly #shared = new Map<string, Shared<T>>();
  readonly #ending = new Set<Promise<void>>();
  #stopped = false;

  constructor(deps: SelectedObjectsDeps<T>) {
    this.#deps = deps;
  }

  /** Watches that run now. */
  get watches(): number {
    return this.#shared.size;
  }

  needs(enqueue: EnqueueSelected<T>): SelectionNeeds<T> {
    const held = new Map<string, readonly string[]>();
    return {
      need: (key, selections) => {
        const wanted = selections.map((selection) => idOf(this.#narrowed(selection)));
        const before = held.get(key) ?? [];
        const shared = wanted.map((id) => this.#acquire(id, enqueue, key));
        held.set(key, wanted);
        // Only after the new ones are held, so that the watch of a selection that stays goes on.
        for (const id of before) if (!wanted.includes(id)) this.#release(id, enqueue, key);
        return completeOf(shared);
      },
      held: (key) => {
        const ids = held.get(key);
        return ids && completeOf(ids.flatMap((id) => this.#shared.get(id) ?? []));
      },
      refusal: (key) => {
        const shared = (held.get(key) ?? []).flatMap((id) => this.#shared.get(id) ?? []);
        return shared.find(({ refusal }) => refusal !== undefined)?.refusal;
      },
      has: (key) => held.has(key),
      release: (key) => {
        for (const id of held.get(key) ?? []) this.#release(id, enqueue, key);
        held.delete(key);
      },
    };
  }

  /** Ends every watch. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { informer } of this.#shared.values()) this.#end(informer);
    this.#shared.clear();
    await Promise.all(this.#ending);
  }

  #narrowed(selection: ObjectSelection): ObjectSelection {
    if (this.#deps.namespace === "" || selection.namespace !== "") return selection;
    return { ...selection, namespace: this.#deps.namespace };
  }

  #acquire(id: string, enqueue: EnqueueSelected<T>, key: string): Shared<T> {
    let shared = this.#shared.get(id);
    if (shared === undefined) {
      shared = this.#start(id);
      this.#shared.set(id, shared);
    }
    const keys = shared.holders.get(enqueue);
    if (keys === undefined) shared.holders.set(enqueue, new Set([key]));
    else keys.add(key);
    return shared;
  }

  #release(id: string, enqueue: EnqueueSelected<T>, key: string): void {
    const shared = this.#shared.get(id);
    const keys = shared?.holders.get(enqueue);
    if (shared === undefined || keys === undefined) return;
    keys.delete(key);
    if (keys.size > 0) return;
    shared.holders.delete(enqueue);
    if (shared.holders.size > 0) return;
    this.#shared.delete(id);
    this.#end(shared.informer);
  }

  #start(id: string): Shared<T> {
    const { client, clock, random, log, metrics, resource } = this.#deps;
    const { namespace, labelSelector, fieldSelector } = selectionOf(id);
    const objects = new SelectionCache<T>(resource, labelSelector);
    const informer = startInformer({
      client,
      resource,
      cache: objects,
      clock,
      random,
      log,
      metrics,
      failed: (error) => {
        if (shared.complete || shared.refusal !== undefined || !isKubeError(error, "Forbidden")) return;
        shared.refusal = error;
        notify();
      },
      ...(namespace === "" ? {} : { namespace }),
      ...(labelSelector === "" ? {} : { labelSelector }),
      ...(fieldSelector === "" ? {} : { fieldSelector }),
    });
    const shared: Shared<T> = {
      objects,
      informer,
      holders: new Map(),
      complete: false,
      refusal: undefined,
    };
    const notify = (change?: Change<T>): void => {
      for (const [enqueue, keys] of shared.holders) for (const key of keys) enqueue(key, change);
    };
    objects.subscribe((change) => {
      // The first list is reported as one.
      if (shared.complete) notify(change);
    });
    informer.synced.then(
      () => {
        shared.complete = true;
        shared.refusal = undefined;
        notify();
      },
      () => undefined,
    );
    if (this.#stopped) this.#end(informer);
    return shared;
  }

  #end(informer: Informer): void {
    const ending = informer.stop().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

class SelectionCache<T extends SelectableObject> extends Cache<T> implements SelectionReader<T> {
  readonly #keyOf: (object: T) => string;

  constructor(resource: Resource<T>, labelSelector: string) {
    const selector = parseSelector(labelSelector);
    super({
      identify: (object) => resource.codec.identify(object),
      // What a write returned may have left the selection by that write.
      keep: ({ labels }) => selector.matches(labels),
      // There may be many selections; what is late is so by seconds.
      tombstones: 1_024,
    });
    this.#keyOf = (object) => resource.codec.identify(object).key;
  }

  /** What the selection says of fields and namespaces only the server knows. */
  override writeBack(object: T): boolean {
    return this.get(this.#keyOf(object))?.uid === object.uid && super.writeBack(object);
  }
}

function completeOf<T extends SelectableObject>(
  shared: readonly Shared<T>[],
): SelectionReader<T>[] | undefined {
  return shared.every(({ complete }) => complete) ? shared.map(({ objects }) => objects) : undefined;
}

/** Equal for selections that ask the server for the same. */
function idOf({ namespace, labels, fields = "" }: ObjectSelection): string {
  return [namespace, selectionText(labels), fields].join("\n");
}

/** As a server takes it; empty for all. */
export function selectionText(labels: ObjectSelection["labels"]): string {
  return labels === "all" ? "" : formatSelector(labels);
}

function selectionOf(id: string): { namespace: string; labelSelector: string; fieldSelector: string } {
  const [namespace = "", labelSelector = "", fieldSelector = ""] = id.split("\n");
  return { namespace, labelSelector, fieldSelector };
}
