/** A watch that keeps of each object only what is made of it. */

import { keyOf } from "../../../kube/core/index.ts";
import {
  Cache,
  type Change,
  type Informer,
  nullLog,
  projectedJsonCodec,
  startInformer,
} from "../../../kube/index.ts";
import type { Call, ClusterAccess } from "../../command.ts";
import { type AnyObject, toAnyObject } from "../../fields.ts";
import { objectResource, pluralName, type ResourceType } from "../../resource_types.ts";
import { unreadLine } from "./unread_line.ts";

export interface FollowRequest<T> {
  readonly access: ClusterAccess;
  readonly host: Pick<Call["host"], "clock" | "random">;
  readonly type: ResourceType;
  readonly namespace?: string;
  readonly labelSelector?: string;
  /** Undefined for objects that are not kept. */
  make(object: AnyObject): T | undefined;
  changed(change: Change<Kept<T>>): void;
}

export interface Kept<T> {
  readonly key: string;
  readonly uid: string;
  readonly version: string;
  readonly item: T | undefined;
}

export class Followed<T> {
  readonly cache: Cache<Kept<T>>;
  readonly #informer: Informer;
  readonly type: ResourceType;
  #failure: { readonly text: string; readonly at: number } | undefined;
  /** Resolves when its list was read, or could not be. */
  readonly settled: Promise<void>;
  #isSettled = false;

  constructor({ access, host, type, namespace, labelSelector, make, changed }: FollowRequest<T>) {
    this.type = type;
    const settled = Promise.withResolvers<void>();
    this.settled = settled.promise.then(() => {
      this.#isSettled = true;
    });
    const identify = ({ key, uid, version }: Kept<T>) => ({ key, uid, version });
    const fromJson = (value: unknown): Kept<T> => {
      const object = toAnyObject(value);
      const { name = "", namespace: place, uid = "", resourceVersion = "" } = object.metadata;
      const key = keyOf(place ? { namespace: place, name } : { name });
      return { key, uid, version: resourceVersion, item: make(object) };
    };
    this.cache = new Cache({ identify, keep: ({ item }) => item !== undefined });
    this.cache.subscribe(changed);
    this.#informer = startInformer({
      client: access.client,
      resource: { ...objectResource(type), codec: projectedJsonCodec({ fromJson, identify }) },
      cache: this.cache,
      clock: host.clock,
      random: host.random,
      log: nullLog,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      failed: (error) => {
        if (error.code === "Gone") return;
        this.#failure = { text: unreadLine(pluralName(type), error), at: host.clock.now() };
        settled.resolve();
      },
    });
    this.#informer.synced.then(settled.resolve, settled.resolve);
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Why it is not up to date; undefined when it is. */
  get problem(): string | undefined {
    if (this.#failure === undefined || this.#informer.lastEventAt > this.#failure.at) return undefined;
    return this.#failure.text;
  }

  stop(): Promise<void> {
    return this.#informer.stop();
  }
}
