/** Parts of a controller that is started again for each move of a world, and hears everything once more. */
import type {
  SelectableObject,
  SelectionNeeds,
  SelectionReader,
  Selections,
} from "../../controller/runtime/selected_objects.ts";
import type { JsonObject } from "../../kube/core/index.ts";
import { Cache, type Codec, KubeError, type Outcome, type Resource, WorkQueue } from "../../kube/index.ts";

export type List = "none" | "asked for" | "refused" | "held";

/** What its events are put into. */
export class CountedQueue extends WorkQueue {
  added = 0;
  isAddedAgain = false;
  isPassing = false;

  override add(...all: Parameters<WorkQueue["add"]>): void {
    this.added++;
    this.isAddedAgain = true;
    super.add(...all);
  }

  override next(): Promise<string | undefined> {
    this.isAddedAgain = false;
    return super.next();
  }

  /** Takes a key and lets it be reconciled, as kube/controller_runner.ts. */
  async pass(reconcile: (key: string) => Promise<Outcome>): Promise<void> {
    const key = await this.next();
    if (key === undefined) return;
    this.isPassing = true;
    await reconcile(key).then(
      ({ requeueAfterMs }) => {
        this.forget(key);
        if (requeueAfterMs !== undefined) this.addAfter(key, requeueAfterMs);
      },
      (error: unknown) => this.addBackoff(key, error),
    );
    this.isPassing = false;
    this.done(key);
  }
}

/** One selection, as controller/runtime/selected_objects.ts has many. */
export class Listing<T extends SelectableObject> implements Selections<T> {
  state: List = "none";
  readonly #resource: Resource<T>;
  /** Whose selection it is. */
  readonly #key: string;
  #objects: WrittenBack<T>;
  #enqueue: Parameters<Selections<T>["needs"]>[0] = () => undefined;

  constructor(resource: Resource<T>, key: string) {
    this.#resource = resource;
    this.#key = key;
    this.#objects = new WrittenBack(resource.codec);
  }

  needs(enqueue: Parameters<Selections<T>["needs"]>[0]): SelectionNeeds<T> {
    this.#enqueue = enqueue;
    const held = () => (this.state === "held" ? [this.#objects] : undefined);
    return {
      need: () => {
        if (this.state === "none") this.state = "asked for";
        return held();
      },
      held,
      refusal: () => (this.state === "refused" ? new KubeError("Forbidden", "no right to list") : undefined),
      has: () => this.state !== "none",
      release: () => {
        this.state = "none";
        this.#objects = new WrittenBack(this.#resource.codec);
      },
    };
  }

  /** For the first time, or because the watch was broken. */
  listed(found: readonly JsonObject[] | undefined, version: string): void {
    const isFirst = this.state !== "held";
    this.state = found === undefined ? "refused" : "held";
    const objects = found?.map((each) => this.#decoded(each)) ?? [];
    this.#objects.replaceAll(objects, version);
    if (!isFirst) return;
    if (found !== undefined) this.#objects.subscribe((change) => this.#enqueue(this.#key, change));
    this.#enqueue(this.#key);
  }

  hear(heard: JsonObject, isGone: boolean): void {
    const object = this.#decoded(heard);
    const { key, uid, version } = this.#resource.codec.identify(object);
    if (isGone) this.#objects.remove(key, uid, version);
    else this.#objects.upsert(object);
  }

  /** Of what it holds, by namespace and name. */
  get versions(): ReadonlyMap<string, { readonly uid: string; readonly resourceVersion: string }> {
    const { codec } = this.#resource;
    return new Map(
      Array.from(this.#objects.values(), (object) => {
        const { key, uid, version } = codec.identify(object);
        return [key, { uid, resourceVersion: version }];
      }),
    );
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  #decoded(object: JsonObject): T {
    return this.#resource.codec.decode(Buffer.from(JSON.stringify(object)), "application/json");
  }
}

class WrittenBack<T extends SelectableObject> extends Cache<T> implements SelectionReader<T> {
  readonly #codec: Codec<T>;

  constructor(codec: Codec<T>) {
    super(codec);
    this.#codec = codec;
  }

  override writeBack(object: T): boolean {
    const { key, uid } = this.#codec.identify(object);
    return this.get(key)?.uid === uid && super.writeBack(object);
  }
}
