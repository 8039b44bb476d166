/**
 * Carries out what plans decide. Writes run in the background through the client's window; until one is
 * answered, plans see its object as it will be, and its answer goes into the cache before anything else.
 * No policy lives here. DESIGN.md: "How a change flows".
 */

import type { KubeObject, ObjectRef } from "../../kube/core/index.ts";
import {
  type Cache,
  type Client,
  type Clock,
  type ControllerRevision,
  controllerRevisionResource,
  isKubeError,
  type Log,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaimResource,
  podResource,
  type Resource,
  type WriteOptions,
  wordsOf,
} from "../../kube/index.ts";
import type { Action, Concern, CreatedResource, FailureWords, NewClaim, ObjectEvent } from "./actions.ts";

/** The workload whose plan is carried out. */
export interface Owner {
  key: string;
  name: string;
  namespace: string;
  uid: string;
}

export interface PerformerDeps {
  client: Client;
  pods: Cache<Pod>;
  claims: Cache<PersistentVolumeClaim>;
  revisions: Cache<ControllerRevision>;
  created: Readonly<Record<CreatedResource, Resource<KubeObject>>>;
  /** What a creation of another object returned. */
  objectCreated(object: KubeObject): void;
  log: Log;
  record(owner: Owner, event: ObjectEvent): void;
  /** Merge patch of the workload itself; writes the answer back. */
  patchWorkload(owner: Owner, body: object, options: WriteOptions): Promise<void>;
  /** Deletes the workload itself; its dependants follow by garbage collection. */
  deleteWorkload(owner: Owner, options: WriteOptions): Promise<void>;
  /** Asks the server itself whether the owner is still the one of this UID and not being deleted. */
  mayAdopt(owner: Owner, options: WriteOptions): Promise<boolean>;
  /** Asks the pod's budget, and spends from it; absent: nobody is asked. */
  mayDisrupt?: ((pod: Pod) => Promise<boolean>) | undefined;
  /** A write ended, or may be tried again after `afterMs`: plan again then. */
  settled(owner: Owner, afterMs: number): void;
  /** What the rest of the plan waited for is there: plan again at once. */
  unblocked(owner: Owner): void;
  clock: Clock;
  /** Backoff of a write that failed: base · 2^(failures − 1), at most max. Milliseconds. */
  baseDelayMs: number;
  maxDelayMs: number;
  /** Aborted when this process may no longer write. */
  signal: AbortSignal;
}

/** Creations that must succeed before the rest may run at once: a quota is met by one refusal, not by thousands. */
const PROBING_LIMIT = 32;
/** How soon a budget that refused is asked again (spec protection, rule 22). */
const BUDGET_MS = 1000;

interface InFlight {
  /** By pod UID, or `in-flight/<name>` for pods that are being created: the pod after the write. */
  pods: Map<string, Pod>;
  /** Names of claims, revisions and objects with a write in flight; `workload` for the owner itself. */
  others: Set<string>;
  failures: { scale?: string; update?: string };
  /** Writes that failed, and when (monotonic) each may be tried again. */
  backoff: Map<string, { failures: number; retryAt: number }>;
}

export class Performer {
  readonly #deps: PerformerDeps;
  readonly #owners = new Map<string, InFlight>();
  readonly #running = new Set<Promise<void>>();

  constructor(deps: PerformerDeps) {
    this.#deps = deps;
  }

  /** Pods as they will be once the writes in flight are done; `busy` are those with one. */
  overlay(ownerUid: string, stored: readonly Pod[]): { pods: readonly Pod[]; busy: ReadonlySet<string> } {
    const flight = this.#owners.get(ownerUid);
    if (flight === undefined || flight.pods.size === 0) return { pods: stored, busy: none };
    const pods: Pod[] = [];
    for (const pod of stored) pods.push(flight.pods.get(pod.uid) ?? pod);
    let names: Set<string> | undefined;
    for (const [id, pod] of flight.pods) {
      // A pod that went while its deletion is under way stays in sight: its claims follow it, and until they are
      // marked, nobody may take them for claims of a vanished pod (cloneset rules 18, 19).
      if (!id.startsWith(CREATING) && pod.deletionAt === undefined) continue;
      names ??= new Set(stored.map((one) => one.name));
      if (!names.has(pod.name)) pods.push(pod);
    }
    return { pods, busy: new Set(flight.pods.keys()) };
  }

  /** Pods of the owner with a write in flight as they will be after it, by UID; new ones by `in-flight/<name>`. */
  pending(ownerUid: string): ReadonlyMap<string, Pod> {
    return this.#owners.get(ownerUid)?.pods ?? nothing;
  }

  failures(ownerUid: string): { scale?: string; update?: string } {
    return this.#owners.get(ownerUid)?.failures ?? {};
  }

  inFlight(ownerUid: string): number {
    const flight = this.#owners.get(ownerUid);
    return flight === undefined ? 0 : flight.pods.size + flight.others.size;
  }

  /** The owner is gone: nothing of it is remembered. Writes in flight end by themselves. */
  forget(ownerUid: string): void {
    this.#owners.delete(ownerUid);
  }

  /** Resolves when no write is in flight any more. */
  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled([...this.#running]);
  }

  /** Starts every action that is neither in flight nor held by the backoff of an earlier failure; returns at once. */
  perform(owner: Owner, actions: readonly Action[]): void {
    const flight = this.#flight(owner.uid);
    const creations: CreatePod[] = [];
    for (const action of actions) {
      if (action.type === "event") {
        this.#deps.record(owner, action.event);
        continue;
      }
      const id = idOf(action);
      if (flight.others.has(id) || this.#held(owner, flight, id)) continue;
      if (action.type === "create pod") creations.push(action);
      else this.#start(owner, flight, id, action);
    }
    if (creations.length === 0) return;
    for (const action of creations) flight.pods.set(`${CREATING}${action.name}`, action.after);
    this.#run(owner, async () =>
      this.#finish(owner, flight, CREATION, await this.#createPods(owner, flight, creations)),
    );
  }

  #start(owner: Owner, flight: InFlight, id: string, action: Exclude<Started, CreatePod>): void {
    let work: () => Promise<boolean | "wait">;
    if (action.type === "patch pod") {
      flight.pods.set(action.pod.uid, action.write.after);
      work = () => this.#patchPod(owner, flight, action);
    } else if (action.type === "delete pod") {
      flight.pods.set(action.pod.uid, { ...action.pod, deletionAt: action.pod.deletionAt ?? 0 });
      work = () => this.#deletePod(owner, flight, action);
    } else {
      flight.others.add(id);
      work = () => this.#other(owner, flight, id, action);
    }
    this.#run(owner, async () => this.#finish(owner, flight, id, await work()));
  }

  #held(owner: Owner, flight: InFlight, id: string): boolean {
    const held = flight.backoff.get(id);
    if (held === undefined) return false;
    const left = held.retryAt - this.#deps.clock.monotonic();
    if (left <= 0) return false;
    this.#deps.settled(owner, left);
    return true;
  }

  #finish(owner: Owner, flight: InFlight, id: string, ok: boolean | "wait"): void {
    if (ok === "wait") {
      flight.backoff.set(id, { failures: 0, retryAt: this.#deps.clock.monotonic() + BUDGET_MS });
      this.#deps.settled(owner, BUDGET_MS);
      return;
    }
    if (ok) {
      flight.backoff.delete(id);
      // Nothing is done to pods before their revision exists.
      if (id.startsWith(REVISION)) this.#deps.unblocked(owner);
      else this.#deps.settled(owner, 0);
      return;
    }
    const failures = (flight.backoff.get(id)?.failures ?? 0) + 1;
    const delay = Math.min(this.#deps.maxDelayMs, this.#deps.baseDelayMs * 2 ** Math.min(30, failures - 1));
    flight.backoff.set(id, { failures, retryAt: this.#deps.clock.monotonic() + delay });
    this.#deps.settled(owner, delay);
  }

  #flight(ownerUid: string): InFlight {
    let flight = this.#owners.get(ownerUid);
    if (flight === undefined) {
      flight = { pods: new Map(), others: new Set(), failures: {}, backoff: new Map() };
      this.#owners.set(ownerUid, flight);
    }
    return flight;
  }

  #run(owner: Owner, work: () => Promise<void>): void {
    const running = work().catch((error: unknown) => {
      this.#deps.log.error("an action failed in an unforeseen way", { error, object: owner.key });
      this.#deps.settled(owner, this.#deps.baseDelayMs);
    });
    const tracked = running.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  #options(owner: Owner, flow: string = owner.uid): WriteOptions {
    return { priority: "high", flow, signal: this.#deps.signal };
  }

  /** A line of their own: the first pods become ready while the last ones are still to be created. */
  #creating(owner: Owner): WriteOptions {
    return this.#options(owner, `${owner.uid} creations`);
  }

  async #createPods(owner: Owner, flight: InFlight, creations: readonly CreatePod[]): Promise<boolean> {
    let start = 0;
    let failed = false;
    for (let size = 1; start < creations.length && !failed; size *= 2) {
      const count = size > PROBING_LIMIT ? creations.length - start : size;
      const batch = creations.slice(start, start + count);
      start += batch.length;
      const results = await Promise.all(batch.map((action) => this.#createPod(owner, flight, action)));
      failed = results.includes(false);
    }
    for (const action of creations.slice(start)) flight.pods.delete(`${CREATING}${action.name}`);
    return !failed;
  }

  /** True when the pod exists afterwards. */
  async #createPod(owner: Owner, flight: InFlight, action: CreatePod): Promise<boolean> {
    const { pods, record } = this.#deps;
    try {
      for (const claim of action.claims) {
        const created = await this.#createClaim(owner, claim);
        if (!created) return false;
      }
      const pod = await this.#createOnce(owner, action);
      pods.writeBack(pod);
      if (action.succeeded !== undefined) record(owner, action.succeeded);
      delete flight.failures.scale;
      return true;
    } catch (error) {
      if (isAborted(error)) return false;
      const text = wordsOf(error);
      const what = JSON.stringify({ namespace: owner.namespace, name: action.name });
      flight.failures.scale = `${action.failed?.condition ?? "failed to create pod"}: ${text}`;
      record(
        owner,
        failure(action, text) ?? {
          type: "Warning",
          reason: "FailedCreate",
          message: `failed to create pod: ${text}, pod: ${what}`,
        },
      );
      return false;
    } finally {
      flight.pods.delete(`${CREATING}${action.name}`);
    }
  }

  /** Creation by a name of our own makes a lost answer harmless: what exists under it is ours or is not. */
  async #createOnce(owner: Owner, action: CreatePod): Promise<Pod> {
    const { client } = this.#deps;
    try {
      return await client.create(podResource, owner.namespace, action.body, this.#creating(owner));
    } catch (error) {
      if (!isKubeError(error) || !error.ambiguous) throw error;
      const found = await client.get(
        podResource,
        { namespace: owner.namespace, name: action.name },
        this.#options(owner),
      );
      if (found.controller?.uid !== owner.uid) throw error;
      return found;
    }
  }

  async #createClaim(owner: Owner, claim: NewClaim): Promise<boolean> {
    const { client, claims, record } = this.#deps;
    try {
      claims.writeBack(
        await client.create(
          persistentVolumeClaimResource,
          owner.namespace,
          claim.body,
          this.#creating(owner),
        ),
      );
      if (claim.succeeded !== undefined) record(owner, claim.succeeded);
      return true;
    } catch (error) {
      if (isKubeError(error, "AlreadyExists") && !error.message.includes("being deleted")) return true;
      if (isAborted(error)) return false;
      const what = JSON.stringify({ namespace: owner.namespace, name: claim.name });
      const message = `failed to create pvc: ${wordsOf(error)}, pvc: ${what}`;
      this.#flight(owner.uid).failures.scale = message;
      const told = failure(claim, wordsOf(error));
      record(owner, told ?? { type: "Warning", reason: "FailedCreate", message });
      return false;
    }
  }

  async #patchPod(
    owner: Owner,
    flight: InFlight,
    action: Extract<Action, { type: "patch pod" }>,
  ): Promise<boolean | "wait"> {
    const ref = { namespace: action.pod.namespace, name: action.pod.name };
    let failed = false;
    try {
      if (action.adopts && !(await this.#deps.mayAdopt(owner, this.#options(owner)))) return false;
      if (action.disrupts && (await this.#deps.mayDisrupt?.(action.pod)) === false) return "wait";
      for (const step of action.write.steps) {
        const patch = { type: "strategic" as const, body: step.body };
        const options = {
          ...this.#options(owner),
          ...(step.subresource ? { subresource: step.subresource } : {}),
        };
        this.#deps.pods.writeBack(await this.#deps.client.patch(podResource, ref, patch, options));
      }
      if (action.succeeded !== undefined) this.#deps.record(owner, action.succeeded);
      this.#clear(flight, action.concern);
    } catch (error) {
      failed = !isAborted(error);
      // Somebody else was first, or the pod is gone: the next plan sees it as it is then.
      if (failed && !isKubeError(error, "Conflict", "NotFound")) {
        const what = action.failed?.message ?? `failed to patch pod ${action.pod.name}`;
        const message = `${what}: ${wordsOf(error)}`;
        const told = `${action.failed?.condition ?? what}: ${wordsOf(error)}`;
        if (action.concern !== "refresh") flight.failures[action.concern] = told;
        this.#deps.log.warn("a pod could not be patched", { error, object: owner.key, pod: action.pod.name });
        this.#deps.record(owner, {
          type: "Warning",
          reason: action.failed?.reason ?? "FailedUpdate",
          message,
        });
      }
    } finally {
      flight.pods.delete(action.pod.uid);
    }
    return !failed;
  }

  #clear(flight: InFlight, concern: Concern): void {
    if (concern !== "refresh") delete flight.failures[concern];
  }

  async #deletePod(
    owner: Owner,
    flight: InFlight,
    action: Extract<Action, { type: "delete pod" }>,
  ): Promise<boolean> {
    const { client, pods, record } = this.#deps;
    const ref = { namespace: action.pod.namespace, name: action.pod.name };
    let failed = false;
    try {
      const left = await this.#deleteQuietly(() =>
        client.delete(podResource, ref, { ...this.#options(owner), uid: action.pod.uid }),
      );
      if (remains(left, action.pod.uid)) pods.writeBack(left);
      else pods.remove(`${ref.namespace}/${ref.name}`, action.pod.uid);
      if (left !== "absent" && action.succeeded !== undefined) record(owner, action.succeeded);
      for (const claim of action.claims) await this.#deleteClaim(owner, claim);
      delete flight.failures.scale;
    } catch (error) {
      failed = !isAborted(error);
      if (failed) {
        const message = `failed to delete pod ${ref.name}: ${wordsOf(error)}`;
        if (action.failed === undefined) flight.failures.scale = message;
        const told = failure(action, wordsOf(error));
        record(owner, told ?? { type: "Warning", reason: "FailedDelete", message });
      }
    } finally {
      flight.pods.delete(action.pod.uid);
    }
    return !failed;
  }

  /** An object that is gone, or was replaced by another of its name, is deleted as far as we care: `absent`. */
  async #deleteQuietly<T>(run: () => Promise<T | undefined>): Promise<T | undefined | "absent"> {
    try {
      return await run();
    } catch (error) {
      if (isKubeError(error, "NotFound", "Conflict")) return "absent";
      throw error;
    }
  }

  async #deleteClaim(owner: Owner, claim: PersistentVolumeClaim): Promise<void> {
    const { client, claims } = this.#deps;
    const ref = { namespace: claim.namespace, name: claim.name };
    const left = await this.#deleteQuietly(() =>
      client.delete(persistentVolumeClaimResource, ref, { ...this.#options(owner), uid: claim.uid }),
    );
    if (remains(left, claim.uid)) claims.writeBack(left);
    else claims.remove(`${claim.namespace}/${claim.name}`, claim.uid);
  }

  async #other(owner: Owner, flight: InFlight, id: string, action: OtherAction): Promise<boolean> {
    try {
      await this.#writeOther(owner, action);
      if (action.type !== "create claim" && "succeeded" in action && action.succeeded)
        this.#deps.record(owner, action.succeeded);
      return true;
    } catch (error) {
      if (isAborted(error)) return false;
      if (!isKubeError(error, "Conflict", "NotFound")) this.#otherFailed(owner, action, error);
      return false;
    } finally {
      flight.others.delete(id);
    }
  }

  #otherFailed(owner: Owner, action: OtherAction, error: unknown): void {
    if (error instanceof ClaimRefused) return;
    const text = wordsOf(error);
    this.#deps.log.warn(`${action.type} failed`, { error, object: owner.key });
    const told = "failed" in action ? failure(action, text) : undefined;
    if (told !== undefined) {
      // The API has this one as a Normal event; alerts that count on it keep working.
      this.#deps.record(owner, action.type === "create object" ? { ...told, type: "Normal" } : told);
    } else if (action.type === "patch claim") {
      const message = `failed to update PVC ${action.claim.name}: ${text}`;
      this.#deps.record(owner, { type: "Warning", reason: "FailedUpdate", message });
    } else if (action.type === "delete claim") {
      const message = `failed to clean up PVC ${action.claim.name}: ${text}`;
      this.#deps.record(owner, { type: "Warning", reason: "FailedDelete", message });
    }
  }

  async #writeOther(owner: Owner, action: OtherAction): Promise<void> {
    const { client, claims, revisions, created } = this.#deps;
    const options = this.#options(owner);
    switch (action.type) {
      case "create claim":
        // A failure was told about where it happened; here it only has to hold back the next attempt.
        if (!(await this.#createClaim(owner, action))) throw new ClaimRefused();
        return;
      case "patch claim": {
        const patch = { type: "strategic" as const, body: action.body };
        claims.writeBack(
          await client.patch(persistentVolumeClaimResource, refOf(action.claim), patch, options),
        );
        return;
      }
      case "delete claim":
        return this.#deleteClaim(owner, action.claim);
      case "create revision":
        revisions.writeBack(await this.#createRevision(owner, action));
        return;
      case "patch revision": {
        const patch = { type: "merge" as const, body: action.body };
        revisions.writeBack(
          await client.patch(controllerRevisionResource, refOf(action.revision), patch, options),
        );
        return;
      }
      case "delete revision": {
        const { revision } = action;
        const gone = { ...options, uid: revision.uid, resourceVersion: revision.resourceVersion };
        await client.delete(controllerRevisionResource, refOf(revision), gone);
        revisions.remove(`${revision.namespace}/${revision.name}`, revision.uid);
        return;
      }
      case "patch workload":
        return this.#deps.patchWorkload(owner, action.body, options);
      case "delete workload":
        return this.#deps.deleteWorkload(owner, options);
      case "create object":
        await this.#existing(async () =>
          this.#deps.objectCreated(
            await client.create(created[action.resource], owner.namespace, action.body, options),
          ),
        );
        return;
      case "delete object": {
        const ref: ObjectRef = { namespace: owner.namespace, name: action.name };
        await this.#deleteQuietly(() =>
          client.delete(created[action.resource], ref, { ...options, uid: action.uid }),
        );
        return;
      }
    }
  }

  /** The stored bytes of `data` are part of the API: they go out as text, not as a re-ordered object. */
  async #createRevision(
    owner: Owner,
    action: Extract<Action, { type: "create revision" }>,
  ): Promise<ControllerRevision> {
    const text = JSON.stringify(action.body);
    const body = `${text.slice(0, -1)},"data":${action.data}}`;
    try {
      return await this.#deps.client.create(
        controllerRevisionResource,
        owner.namespace,
        body,
        this.#options(owner),
      );
    } catch (error) {
      if (!isKubeError(error, "AlreadyExists") && !(isKubeError(error) && error.ambiguous)) throw error;
      return this.#deps.client.get(
        controllerRevisionResource,
        { namespace: owner.namespace, name: action.name },
        this.#options(owner),
      );
    }
  }

  async #existing(run: () => Promise<unknown>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!isKubeError(error, "AlreadyExists")) throw error;
    }
  }
}

type CreatePod = Extract<Action, { type: "create pod" }>;
type Started = Exclude<Action, { type: "event" }>;
type OtherAction = Exclude<Started, { type: "create pod" | "patch pod" | "delete pod" }>;

const CREATING = "in-flight/";
const REVISION = "revision/";
/** Creations share one backoff: what refuses one pod refuses the next. */
const CREATION = "create pods";
const none: ReadonlySet<string> = new Set();
const nothing: ReadonlyMap<string, Pod> = new Map();

function idOf(action: Started): string {
  switch (action.type) {
    case "create pod":
      return CREATION;
    case "patch pod":
    case "delete pod":
      return `pod/${action.pod.uid}`;
    case "create claim":
      return `claim/${action.name}`;
    case "patch claim":
    case "delete claim":
      return `claim/${action.claim.name}`;
    case "create revision":
      return `${REVISION}${action.name}`;
    case "patch revision":
    case "delete revision":
      return `${REVISION}${action.revision.name}`;
    case "patch workload":
    case "delete workload":
      return "workload";
    case "create object":
    case "delete object":
      return `${action.resource}/${action.name}`;
  }
}

function refOf(object: { namespace: string; name: string }): ObjectRef {
  return { namespace: object.namespace, name: object.name };
}

/** Whether a deleted object is still there; what an answer shows without a time of deletion was removed at once. */
function remains<T extends { uid: string; deletionAt: number | undefined }>(
  left: T | undefined | "absent",
  uid: string,
): left is T {
  return left !== undefined && left !== "absent" && left.uid === uid && left.deletionAt !== undefined;
}

class ClaimRefused extends Error {}

/** The event that an action wants for its failure. */
function failure(action: { failed?: FailureWords }, text: string): ObjectEvent | undefined {
  if (action.failed === undefined) return undefined;
  const { reason, message } = action.failed;
  return { type: "Warning", reason, message: `${message}: ${text}` };
}

function isAborted(error: unknown): boolean {
  return isKubeError(error, "Aborted");
}
