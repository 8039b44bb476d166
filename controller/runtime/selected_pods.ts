/**
 * Pods of any owner, by what an object selects: watches that the server limits by namespace, labels or fields,
 * shared by equal selections, begun when an object needs one and ended when none does. The cache of pods.ts
 * holds only pods of our own kinds; holding every pod of a cluster for the few that somebody selects would cost more
 * than everything else together.
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

/** What every projection of a pod has. */
export interface SelectablePod {
  readonly labels: Labels;
  readonly uid: string;
}

export interface PodSelection {
  /** Empty: all namespaces. */
  readonly namespace: string;
  /** `all` has to be said: what an absent selector of an object means is for its kind to decide. */
  readonly labels: LabelSelector | "all";
  /** `spec.restartPolicy!=Always`: a field selector that the server knows for pods. */
  readonly fields?: string;
}

/** The pods of one selection. */
export interface HeldPods<P> extends Reader<P> {
  /** What a write of a held pod returned; ignored for pods that are not held (any more). */
  writeBack(pod: P): boolean;
  /** For `byIndex`; the same function under the same name as often as one likes. */
  addIndex(name: string, valuesOf: (pod: P) => readonly string[]): void;
}

/** The needs of one kind; keys are those of its queue. */
export interface PodNeeds<P> {
  /**
   * From now on `key` needs these selections, and none that it needed before. Undefined until the server has sent
   * all of them: the key is enqueued then. Afterwards it is enqueued by each change of their pods.
   * Call it in each pass: for unchanged selections it costs their text. Throws ParseError for bad selectors.
   */
  need(key: string, selections: readonly PodSelection[]): readonly HeldPods<P>[] | undefined;
  /** What `need` would return for the selections that the key needs already, without their text. */
  held(key: string): readonly HeldPods<P>[] | undefined;
  /** Why a selection that `key` waits for is not listed: the server refuses it. The key is enqueued when that begins. */
  refusal(key: string): KubeError | undefined;
  /** Whether `key` needs any, complete or not. */
  has(key: string): boolean;
  /** `key` needs none any more. */
  release(key: string): void;
}

/** Pods by what objects select. */
export interface Selections<P> {
  /** The needs of one kind, whose keys `enqueue` puts into its queue. */
  needs(enqueue: EnqueuePods<P>): PodNeeds<P>;
}

/** Makes one for each resource object: it says in what projection pods are. */
export function selectionsByResource(
  make: <P extends SelectablePod>(resource: Resource<P>) => Selections<P>,
): <P extends SelectablePod>(resource: Resource<P>) => Selections<P> {
  const made = new Map<unknown, unknown>();
  return <P extends SelectablePod>(resource: Resource<P>) => {
    const selections = made.get(resource) ?? make(resource);
    made.set(resource, selections);
    // The resource object is the same, hence the type of what it decodes.
    return selections as Selections<P>;
  };
}

/** `change` is absent when the selection has just become complete. */
type EnqueuePods<P> = (key: string, change?: Change<P>) => void;

interface SelectedPodsDeps<P> {
  client: Client;
  clock: Clock;
  random: Random;
  log: Log;
  metrics: Metrics;
  resource: Resource<P>;
  /** The only namespace that this process cares for; empty for all. */
  namespace: string;
}

/** One watch and whom it serves. */
interface Shared<P extends SelectablePod> {
  readonly pods: SelectionCache<P>;
  readonly informer: Informer;
  readonly holders: Map<EnqueuePods<P>, Set<string>>;
  complete: boolean;
  /** Of a first list that the server refuses. */
  refusal: KubeError | undefined;
}

export class SelectedPods<P extends SelectablePod = Pod> implements Selections<P> {
  readonly #deps: SelectedPodsDeps<P>;
  readonly #shared = new Map<string, Shared<P>>();
  readonly #ending = new Set<Promise<void>>();
  #stopped = false;

  constructor(deps: SelectedPodsDeps<P>) {
    this.#deps = deps;
  }

  /** Watches that run now. */
  get watches(): number {
    return this.#shared.size;
  }

  needs(enqueue: EnqueuePods<P>): PodNeeds<P> {
    const held = new Map<string, readonly string[]>();
    return {
      need: (key, selections) => {
        const wanted = selections.map((selection) => idOf(this.#narrowed(selection)));
        const before = held.get(key) ?? [];
        const shared = wanted.map((id) => this.#hold(id, enqueue, key));
        held.set(key, wanted);
        // Only after the new ones are held, so that a selection that stays is not watched anew.
        for (const id of before) if (!wanted.includes(id)) this.#letGo(id, enqueue, key);
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
        for (const id of held.get(key) ?? []) this.#letGo(id, enqueue, key);
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

  #narrowed(selection: PodSelection): PodSelection {
    if (this.#deps.namespace === "" || selection.namespace !== "") return selection;
    return { ...selection, namespace: this.#deps.namespace };
  }

  #hold(id: string, enqueue: EnqueuePods<P>, key: string): Shared<P> {
    let shared = this.#shared.get(id);
    if (shared === undefined) {
      shared = this.#begin(id);
      this.#shared.set(id, shared);
    }
    const keys = shared.holders.get(enqueue);
    if (keys === undefined) shared.holders.set(enqueue, new Set([key]));
    else keys.add(key);
    return shared;
  }

  #letGo(id: string, enqueue: EnqueuePods<P>, key: string): void {
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

  #begin(id: string): Shared<P> {
    const { client, clock, random, log, metrics, resource } = this.#deps;
    const { namespace, labelSelector, fieldSelector } = selectionOf(id);
    const pods = new SelectionCache<P>(resource, labelSelector);
    const informer = startInformer({
      client,
      resource,
      cache: pods,
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
    const shared: Shared<P> = {
      pods,
      informer,
      holders: new Map(),
      complete: false,
      refusal: undefined,
    };
    const notify = (change?: Change<P>): void => {
      for (const [enqueue, keys] of shared.holders) for (const key of keys) enqueue(key, change);
    };
    pods.subscribe((change) => {
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

class SelectionCache<P extends SelectablePod> extends Cache<P> implements HeldPods<P> {
  readonly #keyOf: (pod: P) => string;

  constructor(resource: Resource<P>, labelSelector: string) {
    const selector = parseSelector(labelSelector);
    super({
      identify: (pod) => resource.codec.identify(pod),
      // What a write returned may have left the selection by that write.
      keep: (pod) => selector.matches(pod.labels),
      // A pod that leaves the selection is reported as deleted, and may come back.
      tombstones: 0,
    });
    this.#keyOf = (pod) => resource.codec.identify(pod).key;
  }

  /** Without tombstones a late answer must not bring back what the watch has removed. */
  override writeBack(pod: P): boolean {
    return this.get(this.#keyOf(pod))?.uid === pod.uid && super.writeBack(pod);
  }
}

function completeOf<P extends SelectablePod>(shared: readonly Shared<P>[]): HeldPods<P>[] | undefined {
  return shared.every(({ complete }) => complete) ? shared.map(({ pods }) => pods) : undefined;
}

/** Equal for selections that ask the server for the same. */
function idOf({ namespace, labels, fields = "" }: PodSelection): string {
  return [namespace, selectionText(labels), fields].join("\n");
}

/** As a server takes it; empty for all. */
export function selectionText(labels: PodSelection["labels"]): string {
  return labels === "all" ? "" : formatSelector(labels);
}

function selectionOf(id: string): { namespace: string; labelSelector: string; fieldSelector: string } {
  const [namespace = "", labelSelector = "", fieldSelector = ""] = id.split("\n");
  return { namespace, labelSelector, fieldSelector };
}
