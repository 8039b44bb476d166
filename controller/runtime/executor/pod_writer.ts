/** Writes pods and their claims; answers go into the caches before anything else. No policy lives here. */

import type { KubeObject } from "../../../kube/core/index.ts";
import {
  type Cache,
  type ControllerRevision,
  isKubeError,
  type Log,
  messageOf,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaimResource,
  podResource,
  type ReadingClient,
  type Resource,
  type WriteOptions,
  type Writer,
} from "../../../kube/index.ts";
import type { OwnedPods } from "../../rollout/pods/owned_pods.ts";
import type {
  Action,
  Concern,
  CreatedResource,
  FailureMessage,
  NewClaim,
  ObjectEvent,
} from "../../rollout/writes/actions.ts";

/** The workload whose plan is carried out. */
export interface Owner {
  key: string;
  name: string;
  /** Of what is made for it. */
  namespace: string;
  uid: string;
}

export interface WriterDeps {
  client: ReadingClient;
  /** What may be written for the owner. */
  writerOf(owner: Owner): Writer;
  pods: OwnedPods;
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
  /** Aborted when this process may no longer write. */
  signal: AbortSignal;
}

/** What keeps a workload from being scaled or updated, in the words of its conditions. */
export interface Failures {
  scale?: string;
  update?: string;
}

/** How a write ended. `wait`: somebody's budget has to be asked again. A failure has been reported. */
export type Ended = "done" | "wait" | { readonly error: unknown };

export type CreatePod = Extract<Action, { type: "create pod" }>;
export type PatchPod = Extract<Action, { type: "patch pod" }>;
export type DeletePod = Extract<Action, { type: "delete pod" }>;

/** Whether it takes a pod out of service that may be in it: others go before. */
export function begins(action: PatchPod | DeletePod): boolean {
  return action.type === "delete pod" || action.disrupts === true || action.write.begins === true;
}

export class PodWriter {
  readonly #deps: WriterDeps;

  constructor(deps: WriterDeps) {
    this.#deps = deps;
  }

  #options(owner: Owner, flow: string = owner.uid): WriteOptions {
    return { priority: "high", flow, signal: this.#deps.signal };
  }

  /** A line of their own: the first pods become ready while the last ones are still to be created. */
  #creating(owner: Owner): WriteOptions {
    return this.#options(owner, `${owner.uid} creations`);
  }

  /** Done when the pod exists afterwards. */
  async create(owner: Owner, failures: Failures, action: CreatePod): Promise<Ended> {
    const { pods, record } = this.#deps;
    try {
      for (const claim of action.claims) {
        const created = await this.createClaim(owner, failures, claim);
        if (created !== "done") return created;
      }
      const pod = await this.#createOnce(owner, action);
      pods.writeBack(owner, pod);
      if (action.succeeded !== undefined) record(owner, action.succeeded);
      delete failures.scale;
      return "done";
    } catch (error) {
      if (isAborted(error)) return { error };
      const text = messageOf(error);
      const what = JSON.stringify({ namespace: owner.namespace, name: action.name });
      failures.scale = `${action.failed?.condition ?? "failed to create pod"}: ${text}`;
      record(
        owner,
        failure(action, text) ?? {
          type: "Warning",
          reason: "FailedCreate",
          message: `failed to create pod: ${text}, pod: ${what}`,
        },
      );
      return { error };
    }
  }

  /** Creation by a name of our own makes a lost answer harmless: what exists under it is ours or is not. */
  async #createOnce(owner: Owner, action: CreatePod): Promise<Pod> {
    const { client, writerOf } = this.#deps;
    try {
      return await writerOf(owner).create(podResource, owner.namespace, action.body, this.#creating(owner));
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

  async createClaim(owner: Owner, failures: Failures, claim: NewClaim): Promise<Ended> {
    const { writerOf, claims, record } = this.#deps;
    try {
      claims.writeBack(
        await writerOf(owner).create(
          persistentVolumeClaimResource,
          owner.namespace,
          claim.body,
          this.#creating(owner),
        ),
      );
      if (claim.succeeded !== undefined) record(owner, claim.succeeded);
      return "done";
    } catch (error) {
      if (isKubeError(error, "AlreadyExists") && !error.message.includes("being deleted")) return "done";
      if (isAborted(error)) return { error };
      const what = JSON.stringify({ namespace: owner.namespace, name: claim.name });
      const message = `failed to create pvc: ${messageOf(error)}, pvc: ${what}`;
      failures.scale = message;
      const event = failure(claim, messageOf(error));
      record(owner, event ?? { type: "Warning", reason: "FailedCreate", message });
      return { error };
    }
  }

  async patch(owner: Owner, failures: Failures, action: PatchPod): Promise<Ended> {
    const ref = { namespace: action.pod.namespace, name: action.pod.name };
    const writer = this.#deps.writerOf(owner);
    try {
      if (action.adopts && !(await this.#deps.mayAdopt(owner, this.#options(owner))))
        return { error: undefined };
      if (action.disrupts && (await this.#deps.mayDisrupt?.(action.pod)) === false) return "wait";
      for (const [index, step] of action.write.steps.entries()) {
        const patch = { type: "strategic" as const, body: step.body };
        // What was begun is finished first: from its first request on the pod may be out of service.
        const urgent = index > 0 || !begins(action);
        const options = {
          ...this.#options(owner),
          ...(urgent ? { priority: "urgent" as const } : {}),
          ...(step.subresource ? { subresource: step.subresource } : {}),
        };
        this.#deps.pods.writeBack(owner, await writer.patch(podResource, ref, patch, options));
      }
      if (action.succeeded !== undefined) this.#deps.record(owner, action.succeeded);
      this.#clear(failures, action.concern);
      return "done";
    } catch (error) {
      if (isAborted(error)) return "done";
      // Somebody else was first, or the pod is gone: the next plan sees it as it is then.
      if (!isKubeError(error, "Conflict", "NotFound")) {
        const what = action.failed?.message ?? `failed to patch pod ${action.pod.name}`;
        const message = `${what}: ${messageOf(error)}`;
        const reported = `${action.failed?.condition ?? what}: ${messageOf(error)}`;
        if (action.concern !== "refresh") failures[action.concern] = reported;
        this.#deps.log.warn("a pod could not be patched", { error, object: owner.key, pod: action.pod.name });
        this.#deps.record(owner, {
          type: "Warning",
          reason: action.failed?.reason ?? "FailedUpdate",
          message,
          about: action.failed?.about,
        });
      }
      return { error };
    }
  }

  #clear(failures: Failures, concern: Concern): void {
    if (concern !== "refresh") delete failures[concern];
  }

  async delete(owner: Owner, failures: Failures, action: DeletePod): Promise<Ended> {
    const { writerOf, pods, record } = this.#deps;
    const ref = { namespace: action.pod.namespace, name: action.pod.name };
    try {
      const left = await deleteQuietly(() =>
        writerOf(owner).delete(podResource, ref, { ...this.#options(owner), uid: action.pod.uid }),
      );
      if (remains(left, action.pod.uid)) pods.writeBack(owner, left);
      else pods.remove(owner, `${ref.namespace}/${ref.name}`, action.pod.uid);
      if (left !== "absent" && action.succeeded !== undefined) record(owner, action.succeeded);
      for (const claim of action.claims) await this.deleteClaim(owner, claim);
      delete failures.scale;
      return "done";
    } catch (error) {
      if (isAborted(error)) return "done";
      const message = `failed to delete pod ${ref.name}: ${messageOf(error)}`;
      if (action.failed === undefined) failures.scale = message;
      const event = failure(action, messageOf(error));
      record(owner, event ?? { type: "Warning", reason: "FailedDelete", message });
      return { error };
    }
  }

  async deleteClaim(owner: Owner, claim: PersistentVolumeClaim): Promise<void> {
    const { writerOf, claims } = this.#deps;
    const ref = { namespace: claim.namespace, name: claim.name };
    const left = await deleteQuietly(() =>
      writerOf(owner).delete(persistentVolumeClaimResource, ref, { ...this.#options(owner), uid: claim.uid }),
    );
    if (remains(left, claim.uid)) claims.writeBack(left);
    else claims.remove(`${claim.namespace}/${claim.name}`, claim.uid);
  }
}

/** An object that is gone, or was replaced by another of its name, is deleted as far as we care: `absent`. */
export async function deleteQuietly<T>(run: () => Promise<T | undefined>): Promise<T | undefined | "absent"> {
  try {
    return await run();
  } catch (error) {
    if (isKubeError(error, "NotFound", "Conflict")) return "absent";
    throw error;
  }
}

/** Whether a deleted object is still there; what an answer shows without a time of deletion was removed at once. */
function remains<T extends { uid: string; deletionAt: number | undefined }>(
  left: T | undefined | "absent",
  uid: string,
): left is T {
  return left !== undefined && left !== "absent" && left.uid === uid && left.deletionAt !== undefined;
}

/** The event that an action wants for its failure. */
export function failure(action: { failed?: FailureMessage }, text: string): ObjectEvent | undefined {
  if (action.failed === undefined) return undefined;
  const { reason, message, about } = action.failed;
  return { type: "Warning", reason, message: `${message}: ${text}`, about };
}

export function isAborted(error: unknown): boolean {
  return isKubeError(error, "Aborted");
}
