/** Writes what plans decide beside pods: revisions, claims, the workload itself, objects made for it. */

import type { ObjectRef } from "../../../kube/core/index.ts";
import {
  isKubeError,
  messageOf,
  persistentVolumeClaimResource,
  severityOf,
  type WriteOptions,
} from "../../../kube/index.ts";
import type { Action } from "../../rollout/writes/actions.ts";
import {
  type CreatePod,
  type DeletePod,
  deleteQuietly,
  type Ended,
  type Failures,
  failure,
  isAborted,
  type Owner,
  type PatchPod,
  type PodWriter,
  type WriterDeps,
} from "./pod_writer.ts";
import { writeRevision } from "./revision_writer.ts";

type OtherAction = Exclude<Action, CreatePod | PatchPod | DeletePod | { type: "event" }>;

export class OtherWriter {
  readonly #deps: WriterDeps;
  readonly #pods: PodWriter;

  constructor(deps: WriterDeps, pods: PodWriter) {
    this.#deps = deps;
    this.#pods = pods;
  }

  /** Done when it is as it should be. */
  async write(owner: Owner, failures: Failures, action: OtherAction): Promise<Ended> {
    try {
      await this.#send(owner, failures, action);
      if (action.type !== "create claim" && "succeeded" in action && action.succeeded)
        this.#deps.record(owner, action.succeeded);
      return "done";
    } catch (error) {
      if (error instanceof ClaimRefused) return { error: error.cause };
      if (!isAborted(error) && !isKubeError(error, "Conflict", "NotFound"))
        this.#failed(owner, action, error);
      return { error };
    }
  }

  #failed(owner: Owner, action: OtherAction, error: unknown): void {
    const text = messageOf(error);
    this.#deps.log[severityOf(error)](`${action.type} failed`, { error, object: owner.key });
    const event = "failed" in action ? failure(action, text) : undefined;
    if (event !== undefined) {
      // The API has this one as a Normal event; alerts that count on it keep working.
      this.#deps.record(owner, action.type === "create object" ? { ...event, type: "Normal" } : event);
    } else if (action.type === "patch claim") {
      const message = `failed to update PVC ${action.claim.name}: ${text}`;
      this.#deps.record(owner, { type: "Warning", reason: "FailedUpdate", message });
    } else if (action.type === "delete claim") {
      const message = `failed to clean up PVC ${action.claim.name}: ${text}`;
      this.#deps.record(owner, { type: "Warning", reason: "FailedDelete", message });
    }
  }

  async #send(owner: Owner, failures: Failures, action: OtherAction): Promise<void> {
    const { client, writerOf, claims, created, revisions } = this.#deps;
    const writer = writerOf(owner);
    const options = this.#options(owner);
    switch (action.type) {
      case "create claim": {
        // A failure was reported where it happened; here it only has to hold back the next attempt.
        const ended = await this.#pods.createClaim(owner, failures, action);
        if (typeof ended === "object") throw new ClaimRefused("reported already", { cause: ended.error });
        return;
      }
      case "patch claim": {
        const patch = { type: "strategic" as const, body: action.body };
        claims.writeBack(await writer.patch(persistentVolumeClaimResource, action.claim, patch, options));
        return;
      }
      case "delete claim":
        return this.#pods.deleteClaim(owner, action.claim);
      case "create revision":
      case "patch revision":
      case "delete revision":
        return writeRevision({ client, writer, revisions }, owner.namespace, action, options);
      case "patch workload":
        return this.#deps.patchWorkload(owner, action.body, options);
      case "delete workload":
        return this.#deps.deleteWorkload(owner, options);
      case "create object":
        await this.#existing(async () =>
          this.#deps.objectCreated(
            await writer.create(created[action.resource], owner.namespace, action.body, options),
          ),
        );
        return;
      case "delete object": {
        const ref: ObjectRef = { namespace: owner.namespace, name: action.name };
        await deleteQuietly(() =>
          writer.delete(created[action.resource], ref, { ...options, uid: action.uid }),
        );
        return;
      }
    }
  }

  async #existing(run: () => Promise<unknown>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!isKubeError(error, "AlreadyExists")) throw error;
    }
  }

  #options(owner: Owner): WriteOptions {
    return { priority: "high", flow: owner.uid, signal: this.#deps.signal };
  }
}

class ClaimRefused extends Error {}
