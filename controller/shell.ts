/**
 * The shell of every kind: reads the cache, lets the kind's reconciler plan, offers the status, carries the actions out
 * and comes again where somebody else was faster. No policy lives here.
 */
import { type KubeObject, type ObjectMeta, refOf } from "../kube/core/index.ts";
import { type EventTarget, isKubeError, messageOf, type Outcome, type Resource } from "../kube/index.ts";
import { earliest } from "./earliest.ts";
import type { KindDeps, KindShell } from "./kind.ts";
import type { ObjectEvent } from "./rollout/actions.ts";
import { StatusWriter } from "./rollout/status_writer.ts";

/** What is to be done with the object of a pass. */
export type ObjectAction =
  /** `body` lacks what the shell knows: version, kind, name and namespace. */
  | { readonly type: "create object"; readonly body: ObjectBody }
  /** Merge patch; `exact`: of no other version than the one that was planned with. */
  | { readonly type: "patch object"; readonly body: ObjectBody; readonly exact?: boolean }
  /** Merge patch of a status that has to be stored before what follows. All others are offered as the pass's `status`. */
  | { readonly type: "patch status"; readonly status: object; readonly exact?: boolean }
  | { readonly type: "add finalizer" | "remove finalizer"; readonly finalizer: string }
  | { readonly type: "delete object" }
  /** `about`: another object. */
  | { readonly type: "event"; readonly event: ObjectEvent; readonly about?: EventTarget };

interface ObjectBody {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

/** A function is what only the kind knows how to do. */
export type Step = ObjectAction | (() => Promise<unknown>);

export interface Pass {
  /**
   * As it should be; absent: it stays. Written when it differs, coalesced while it churns. Offered before the actions, so
   * that it is told also where those are refused; an exact patch of the object in the same pass would meet it as a race.
   */
  readonly status?: object | undefined;
  /** How many pods, nodes or images the status is about: the more, the more changes go into one write of it. */
  readonly size?: number;
  /** The status is not to wait for others: nothing else is going to happen. */
  readonly settled?: boolean;
  /** Carried out in order, each answered before the next; what is refused ends the pass. */
  readonly actions?: readonly Step[];
  readonly wakeAfterMs?: number | undefined;
}

type Planned = Pass | undefined | Promise<Pass | undefined>;

/** What a kind brings; keys are those of its queue. */
export interface Reconciler<T> {
  /** What the object needs now. Undefined while something it depends on is still being listed, which enqueues the key. */
  reconcile(object: T, key: string): Planned;
  /** The same where there is no object of this name. Default: nothing. */
  reconcileAbsent?(key: string): Planned;
  /** Milliseconds in which further events of the same object are gathered. Default: none. */
  coalescingMs?(key: string): number;
  /** The object is gone. */
  forget?(key: string, uid: string): void;
  /** Resolves when no write is in flight. Needed for writes that a pass does not wait for. */
  drained?(): Promise<void>;
  /** What every object carries before anything is done for it. Passes over a deleted object take it off. */
  readonly finalizer?: string;
  /** Fairness key of the writes. Default: the object's UID. */
  readonly flow?: string;
}

export interface StatusObject extends KubeObject {
  status?: object;
}

/** Somebody else was faster: what they did is on its way here, or here already. */
const RACE_MS = 100;

export function shellOf<T extends StatusObject>(deps: KindDeps<T>, reconciler: Reconciler<T>): KindShell {
  return new Shell(deps, reconciler);
}

class Shell<T extends StatusObject> implements KindShell {
  readonly #deps: KindDeps<T>;
  readonly #reconciler: Reconciler<T>;
  readonly #status: StatusWriter<T>;
  /** By key: the generation that no plan could work with when it was last tried. */
  readonly #failing = new Map<string, number>();

  constructor(deps: KindDeps<T>, reconciler: Reconciler<T>) {
    this.#deps = deps;
    this.#reconciler = reconciler;
    this.#status = new StatusWriter(deps, (key) => this.coalescingMs(key));
  }

  coalescingMs(key: string): number {
    return this.#reconciler.coalescingMs?.(key) ?? 0;
  }

  forget(key: string, uid: string): void {
    this.#status.forget(uid);
    this.#reconciler.forget?.(key, uid);
  }

  async drained(): Promise<void> {
    await this.#reconciler.drained?.();
  }

  async reconcile(key: string): Promise<Outcome> {
    let wakeAfterMs: number | undefined;
    try {
      const { finalizer } = this.#reconciler;
      if (finalizer !== undefined) await this.#addFinalizer(key, finalizer);
      const object = this.#deps.objects.get(key);
      const pass = await (object === undefined
        ? this.#reconciler.reconcileAbsent?.(key)
        : this.#reconciler.reconcile(object, key));
      this.#failing.delete(key);
      if (pass === undefined) return {};
      wakeAfterMs = earliest([pass.wakeAfterMs, object && this.#offer(key, object, pass)]);
      if (pass.actions !== undefined) await this.#carryOut(key, object, pass.actions);
      return { wakeAfterMs };
    } catch (error) {
      if (isRace(error)) return { wakeAfterMs: earliest([wakeAfterMs, RACE_MS]) };
      // What the server refused is no matter of the object.
      if (!isKubeError(error)) this.#reportFailure(key, error);
      // What time alone changes does not wait for the backoff of a write that is refused.
      if (wakeAfterMs !== undefined) this.#deps.queue.addAfter(key, wakeAfterMs);
      throw error;
    }
  }

  /** An object that was stored before an upgrade or edited around admission: all others go on. Once a generation. */
  #reportFailure(key: string, error: unknown): void {
    const { objects, recorder, resource } = this.#deps;
    const { metadata } = objects.get(key) ?? {};
    if (metadata === undefined || this.#failing.get(key) === (metadata.generation ?? 0)) return;
    this.#failing.set(key, metadata.generation ?? 0);
    const message = `${resource.kind} cannot be reconciled: ${messageOf(error)}`;
    recorder.event(eventTarget(resource, metadata), "Warning", "FailedReconcile", message);
  }

  async #addFinalizer(key: string, finalizer: string): Promise<void> {
    const object = this.#deps.objects.get(key);
    if (object !== undefined && object.metadata.deletionTimestamp === undefined)
      await this.#perform(key, object, { type: "add finalizer", finalizer });
  }

  #offer(key: string, object: T, { status, size = 0, settled = false }: Pass): number | undefined {
    if (status === undefined) return undefined;
    const target = { key, uid: object.metadata.uid ?? "" };
    return this.#status.offer(target, object.status, status, size, settled);
  }

  async #carryOut(key: string, planned: T | undefined, actions: readonly Step[]): Promise<void> {
    let object = planned;
    for (const action of actions) {
      if (typeof action === "function") await action();
      else object = await this.#perform(key, object, action);
    }
  }

  /** The object as it is after the action. */
  async #perform(key: string, object: T | undefined, action: ObjectAction): Promise<T | undefined> {
    const { resource, recorder } = this.#deps;
    if (action.type === "create object") return this.#create(key, action.body);
    if (object === undefined) return undefined;
    const { metadata } = object;
    switch (action.type) {
      case "patch object":
        return this.#patch(key, metadata, action.body, action);
      case "patch status":
        if (Object.keys(action.status).length === 0) return object;
        return this.#patch(key, metadata, { status: action.status }, action, "status");
      case "add finalizer":
      case "remove finalizer": {
        const { finalizers: before = [] } = metadata;
        const others = before.filter((finalizer) => finalizer !== action.finalizer);
        const finalizers = action.type === "add finalizer" ? [...others, action.finalizer] : others;
        if (finalizers.length === before.length) return object;
        // A list is replaced as a whole: only the one that was read may be.
        return this.#patch(key, metadata, { metadata: { finalizers } }, { exact: true });
      }
      case "delete object":
        return this.#delete(key, metadata);
      case "event": {
        const { type, reason, message } = action.event;
        recorder.event(action.about ?? eventTarget(resource, metadata), type, reason, message);
        return object;
      }
    }
  }

  async #create(key: string, { metadata, ...rest }: ObjectBody): Promise<T> {
    const { client, resource, objects } = this.#deps;
    const ref = refOf(key);
    const body = {
      apiVersion: groupVersionOf(resource),
      kind: resource.kind,
      metadata: { ...ref, ...metadata },
      ...rest,
    };
    const created = await client.create(resource, ref.namespace, body, this.#options(key));
    objects.writeBack(created);
    return created;
  }

  async #patch(
    key: string,
    { uid = "", resourceVersion }: ObjectMeta,
    { metadata, ...rest }: ObjectBody,
    { exact = false }: { readonly exact?: boolean },
    subresource?: "status",
  ): Promise<T> {
    const { client, resource, objects } = this.#deps;
    const body = { metadata: { uid, ...(exact ? { resourceVersion } : {}), ...metadata }, ...rest };
    const options = { ...this.#options(uid), ...(subresource === undefined ? {} : { subresource }) };
    const patched = await client.patch(resource, refOf(key), { type: "merge", body }, options);
    const { deletionTimestamp, finalizers = [] } = patched.metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0) objects.remove(key, uid);
    else objects.writeBack(patched);
    return patched;
  }

  async #delete(key: string, { uid = "" }: ObjectMeta): Promise<T | undefined> {
    const { client, resource, objects } = this.#deps;
    const options = { ...this.#options(uid), uid, propagationPolicy: "Background" } as const;
    const left = await client.delete(resource, refOf(key), options);
    if (left === undefined) objects.remove(key, uid);
    else objects.writeBack(left);
    return left;
  }

  #options(flow: string): { flow: string; signal: AbortSignal } {
    return { flow: this.#reconciler.flow ?? flow, signal: this.#deps.signal };
  }
}

/** A namespace that does not exist is no race: that is for people to mend. */
function isRace(error: unknown): boolean {
  return isKubeError(error, "Conflict", "NotFound", "AlreadyExists") && error.about?.kind !== "namespaces";
}

export function groupVersionOf({ group, version }: Pick<Resource<unknown>, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}

/** The object of an event, from the metadata of any object. */
export function eventTarget(
  resource: Pick<Resource<unknown>, "group" | "version" | "kind">,
  metadata: Pick<ObjectMeta, "namespace" | "name" | "uid" | "resourceVersion">,
): EventTarget {
  const { namespace, name = "", uid = "", resourceVersion = "" } = metadata;
  const target = { apiVersion: groupVersionOf(resource), kind: resource.kind, name, uid, resourceVersion };
  return namespace ? { ...target, namespace } : target;
}
