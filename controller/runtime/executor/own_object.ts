/** Writes the object of a plan itself; answers go into its cache before anything else. No policy lives here. */
import { type ObjectMeta, refOf } from "../../../kube/core/index.ts";
import { isKubeError, type PatchOptions, type WriteOptions } from "../../../kube/index.ts";
import type { KindEffect, ObjectBody, ObjectEffect, StatusPatch } from "../../plan/effects.ts";
import { scopeOf } from "../../plan/owners.ts";
import { groupVersionOf } from "../../plan/resources.ts";
import { dropIfGone } from "../gone_object.ts";
import type { KindDeps } from "../kind.ts";
import type { Reconciler, StatusObject } from "../reconciler.ts";

export interface Written<T> {
  /** The object as it is after the effect; undefined: it is gone. */
  readonly object: T | undefined;
  /** What takes the place of the effects that follow; absent: they stay. */
  readonly rest?: readonly KindEffect[];
}

type Settings = Pick<ObjectEffect, "priority">;

interface Renewed {
  readonly resourceVersion: string;
  readonly status: object;
  readonly rest: readonly KindEffect[];
}

export class OwnObject<T extends StatusObject> {
  readonly #deps: KindDeps<T>;
  readonly #reconciler: Pick<Reconciler<T>, "flow" | "renewed">;

  constructor(deps: KindDeps<T>, reconciler: Pick<Reconciler<T>, "flow" | "renewed">) {
    this.#deps = deps;
    this.#reconciler = reconciler;
  }

  async write(key: string, object: T | undefined, effect: ObjectEffect): Promise<Written<T>> {
    if (effect.type === "create object") return { object: await this.#create(key, effect) };
    if (object === undefined) return { object };
    const { metadata } = object;
    switch (effect.type) {
      case "patch object":
        return { object: await this.#patch(key, metadata, effect.body, effect) };
      case "patch status":
        return this.#patchStatus(key, object, effect);
      case "add finalizer":
      case "remove finalizer": {
        const { finalizers: before = [] } = metadata;
        const others = before.filter((finalizer) => finalizer !== effect.finalizer);
        const finalizers = effect.type === "add finalizer" ? [...others, effect.finalizer] : others;
        if (finalizers.length === before.length) return { object };
        // A list is replaced as a whole: only the one that was read may be.
        const exact = { ...effect, exact: true };
        return { object: await this.#patch(key, metadata, { metadata: { finalizers } }, exact) };
      }
      case "delete object":
        return { object: await this.#delete(key, metadata, effect) };
      case "confirm object":
        return (await this.exists(key, metadata.uid ?? "", effect)) ? { object } : { object, rest: [] };
    }
  }

  /** Asks the server itself: the cache may not know yet that the object is gone. */
  async exists(key: string, uid: string, effect: Settings = {}): Promise<boolean> {
    const { client, resource } = this.#deps;
    const { metadata } = await client.get(resource, refOf(key), this.#options(uid, effect));
    return metadata.uid === uid && metadata.deletionTimestamp === undefined;
  }

  async #create(key: string, effect: Settings & { readonly body: ObjectBody }): Promise<T> {
    const { metadata, ...rest } = effect.body;
    const { writesFor, resource, objects } = this.#deps;
    const ref = refOf(key);
    const body = {
      apiVersion: groupVersionOf(resource),
      kind: resource.kind,
      metadata: { ...ref, ...metadata },
      ...rest,
    };
    const options = this.#options(key, effect);
    const created = await writesFor(scopeOf(key)).create(resource, ref.namespace, body, options);
    objects.writeBack(created);
    return created;
  }

  async #patch(
    key: string,
    { uid = "", resourceVersion }: ObjectMeta,
    { metadata, ...rest }: ObjectBody,
    effect: Settings & { readonly exact?: boolean },
    more: Pick<PatchOptions, "subresource" | "bodyWhenSent"> = {},
  ): Promise<T> {
    const { writesFor, resource, objects } = this.#deps;
    const body = { metadata: { uid, ...(effect.exact ? { resourceVersion } : {}), ...metadata }, ...rest };
    const options = { ...this.#options(uid, effect), ...more };
    const patch = { type: "merge", body } as const;
    const patched = await writesFor(scopeOf(key))
      .patch(resource, refOf(key), patch, options)
      .catch(async (error: unknown) => {
        if (effect.exact && isKubeError(error, "Conflict")) await this.#catchUp(key, resourceVersion);
        dropIfGone(objects, key, uid, error);
        throw error;
      });
    const { deletionTimestamp, finalizers = [] } = patched.metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0) objects.remove(key, uid);
    else objects.writeBack(patched);
    return patched;
  }

  /** While a watch is late, each event would lead to the same conflict: what somebody else wrote is read, once. */
  async #catchUp(key: string, refusedVersion: string | undefined): Promise<void> {
    const { client, resource, objects, signal } = this.#deps;
    if (objects.get(key)?.metadata.resourceVersion !== refusedVersion) return;
    const newest = await client.get(resource, refOf(key), { signal }).catch(() => undefined);
    if (newest !== undefined) objects.writeBack(newest);
  }

  async #patchStatus(key: string, object: T, effect: StatusPatch): Promise<Written<T>> {
    const { status, renewable = false } = effect;
    if (Object.keys(status).length === 0) return { object };
    const { metadata } = object;
    const { uid = "", resourceVersion } = metadata;
    let rest: Written<T>["rest"];
    const bodyWhenSent = (): object => {
      const renewed = this.#renewed(key, object);
      rest = renewed?.rest;
      const newest = renewed ?? { resourceVersion, status };
      return { metadata: { uid, resourceVersion: newest.resourceVersion }, status: newest.status };
    };
    const options = { subresource: "status", ...(renewable ? { bodyWhenSent } : {}) };
    const patched = await this.#patch(key, metadata, { status }, effect, options);
    return rest === undefined ? { object: patched } : { object: patched, rest };
  }

  /** The patch for the newest version that is known, and what follows it. Undefined where that needs another plan. */
  #renewed(key: string, planned: T): Renewed | undefined {
    const newest = this.#deps.objects.get(key);
    if (newest === undefined || newest === planned) return undefined;
    const { uid, generation, resourceVersion = "" } = newest.metadata;
    if (uid !== planned.metadata.uid || generation !== planned.metadata.generation) return undefined;
    const effects = this.#reconciler.renewed?.(newest, key)?.effects;
    const index = effects?.findIndex(isStatusPatch) ?? -1;
    const patch = effects?.[index];
    if (effects === undefined || patch === undefined || !isStatusPatch(patch)) return undefined;
    return { resourceVersion, status: patch.status, rest: effects.slice(index + 1) };
  }

  /** Of exactly what was looked at: what somebody changed meanwhile may be why it is to stay. */
  async #delete(
    key: string,
    { uid = "", resourceVersion }: ObjectMeta,
    effect: Settings,
  ): Promise<T | undefined> {
    const { writesFor, resource, objects } = this.#deps;
    const options = this.#options(uid, effect);
    const left = await writesFor(scopeOf(key))
      .delete(resource, refOf(key), { ...options, uid, resourceVersion, propagationPolicy: "Background" })
      .catch(async (error: unknown) => {
        if (isKubeError(error, "Conflict")) await this.#catchUp(key, resourceVersion);
        throw error;
      });
    if (left === undefined) objects.remove(key, uid);
    else objects.writeBack(left);
    return left;
  }

  #options(flow: string, { priority }: Settings): WriteOptions {
    const options = { flow: this.#reconciler.flow ?? flow, signal: this.#deps.signal };
    return priority === undefined ? options : { ...options, priority };
  }
}

const objectEffects: ReadonlySet<string> = new Set<ObjectEffect["type"]>([
  "create object",
  "patch object",
  "patch status",
  "add finalizer",
  "remove finalizer",
  "delete object",
  "confirm object",
]);

export function isAboutObject<E extends { readonly type: string }>(
  effect: E | ObjectEffect,
): effect is ObjectEffect {
  return objectEffects.has(effect.type);
}

function isStatusPatch(effect: object): effect is StatusPatch {
  return "type" in effect && effect.type === "patch status";
}
