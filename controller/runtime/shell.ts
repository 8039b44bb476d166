/**
 * The shell of every controller: lets its reconciler plan, carries the actions out and comes again where somebody else
 * was faster. For a kind it also reads the cache and offers the status. No policy lives here.
 */
import { type ObjectMeta, refOf } from "../../kube/core/index.ts";
import {
  type EventTarget,
  isKubeError,
  messageOf,
  type Outcome,
  type PatchOptions,
  type Resource,
  type WorkQueue,
} from "../../kube/index.ts";
import { earliest } from "../plan/earliest.ts";
import { scopeOf } from "../plan/owners.ts";
import type { KindDeps } from "./kind.ts";
import type {
  ObjectAction,
  ObjectBody,
  Pass,
  PlainReconciler,
  Reconciler,
  StatusObject,
  StatusPatch,
  Step,
} from "./reconciler.ts";
import { StatusWriter } from "./status_writer.ts";

export interface PlainShell {
  reconcile(key: string): Promise<Outcome>;
}

export interface KindShell extends PlainShell {
  /** Milliseconds in which further events of the same object are gathered. */
  coalescingMs(key: string): number;
  /** The object is gone. */
  forget(key: string, uid: string): void;
  /** Resolves when no write is in flight. */
  drained(): Promise<void>;
}

/** Somebody else was faster: what they did is on its way here, or here already. */
const RACE_MS = 100;

export function shellOf<T extends StatusObject>(deps: KindDeps<T>, reconciler: Reconciler<T>): KindShell {
  return new Shell(deps, reconciler);
}

export function plainShellOf(
  { queue }: { readonly queue: Pick<WorkQueue, "addAfter"> },
  reconciler: PlainReconciler,
): PlainShell {
  const planned = async (key: string): Promise<Planned | undefined> => {
    const pass = await reconciler.reconcile(key);
    if (pass === undefined) return undefined;
    const carryOut = async (): Promise<void> => {
      for (const write of pass.actions ?? []) await write();
    };
    return { requeueAfterMs: pass.requeueAfterMs, carryOut };
  };
  return { reconcile: (key) => runPass(queue, key, () => planned(key)) };
}

interface Planned {
  readonly requeueAfterMs: number | undefined;
  carryOut(): Promise<void>;
}

/** One pass of any controller. A refused write is retried by the backoff of the queue, a lost race soon and without it. */
async function runPass(
  queue: Pick<WorkQueue, "addAfter">,
  key: string,
  plan: () => Promise<Planned | undefined>,
): Promise<Outcome> {
  let requeueAfterMs: number | undefined;
  try {
    const planned = await plan();
    if (planned === undefined) return {};
    requeueAfterMs = planned.requeueAfterMs;
    await planned.carryOut();
    return { requeueAfterMs };
  } catch (error) {
    if (isRace(error)) return { requeueAfterMs: earliest([requeueAfterMs, RACE_MS]) };
    // What time alone changes does not wait for the backoff of a write that is refused.
    if (requeueAfterMs !== undefined) queue.addAfter(key, requeueAfterMs);
    throw error;
  }
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
    try {
      return await runPass(this.#deps.queue, key, () => this.#plan(key));
    } catch (error) {
      // What the server refused is no matter of the object.
      if (!isKubeError(error)) this.#reportFailure(key, error);
      throw error;
    }
  }

  async #plan(key: string): Promise<Planned | undefined> {
    const { finalizer } = this.#reconciler;
    if (finalizer !== undefined) await this.#addFinalizer(key, finalizer);
    const object = this.#deps.objects.get(key);
    const pass = await (object === undefined
      ? this.#reconciler.reconcileAbsent?.(key)
      : this.#reconciler.reconcile(object, key));
    this.#failing.delete(key);
    if (pass === undefined) return undefined;
    const requeueAfterMs = earliest([pass.requeueAfterMs, object && this.#offer(key, object, pass)]);
    return { requeueAfterMs, carryOut: () => this.#carryOut(key, object, pass.actions ?? []) };
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
    const { objects } = this.#deps;
    const { uid = "" } = object.metadata;
    // A write of the status may have been answered while the pass waited.
    const stored = objects.holds(key, uid) ? objects.get(key) : object;
    return this.#status.offer({ key, uid }, stored?.status, status, size, settled);
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
        return this.#patchStatus(key, metadata, action);
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
    const { writesFor, resource, objects } = this.#deps;
    const ref = refOf(key);
    const body = {
      apiVersion: groupVersionOf(resource),
      kind: resource.kind,
      metadata: { ...ref, ...metadata },
      ...rest,
    };
    const created = await writesFor(scopeOf(key)).create(resource, ref.namespace, body, this.#options(key));
    objects.writeBack(created);
    return created;
  }

  async #patch(
    key: string,
    { uid = "", resourceVersion }: ObjectMeta,
    { metadata, ...rest }: ObjectBody,
    { exact = false }: { readonly exact?: boolean },
    more: Pick<PatchOptions, "subresource" | "bodyWhenSent"> = {},
  ): Promise<T> {
    const { writesFor, resource, objects } = this.#deps;
    const body = { metadata: { uid, ...(exact ? { resourceVersion } : {}), ...metadata }, ...rest };
    const options = { ...this.#options(uid), ...more };
    const patched = await writesFor(scopeOf(key)).patch(
      resource,
      refOf(key),
      { type: "merge", body },
      options,
    );
    const { deletionTimestamp, finalizers = [] } = patched.metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0) objects.remove(key, uid);
    else objects.writeBack(patched);
    return patched;
  }

  #patchStatus(key: string, metadata: ObjectMeta, action: StatusPatch): Promise<T> {
    const { status, renewed } = action;
    const { uid = "", resourceVersion } = metadata;
    const bodyWhenSent = (): object => {
      const newest = renewed?.() ?? { resourceVersion, status };
      return { metadata: { uid, resourceVersion: newest.resourceVersion }, status: newest.status };
    };
    const options = { subresource: "status", ...(renewed === undefined ? {} : { bodyWhenSent }) };
    return this.#patch(key, metadata, { status }, action, options);
  }

  async #delete(key: string, { uid = "" }: ObjectMeta): Promise<T | undefined> {
    const { writesFor, resource, objects } = this.#deps;
    const options = { ...this.#options(uid), uid, propagationPolicy: "Background" } as const;
    const left = await writesFor(scopeOf(key)).delete(resource, refOf(key), options);
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
