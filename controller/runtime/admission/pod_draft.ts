/** The pod of one admission. Of what arrived only the parts that steps write to are copied. */
import { isJsonObject, type JsonObject, type Labels, own, put } from "../../../kube/core/index.ts";
import { objectAt, textsAt } from "../../native/json_fields.ts";
import type { AdmissionRequest } from "./request.ts";

export class PodDraft {
  readonly request: AdmissionRequest;
  /** The pod as it arrived. */
  readonly original: JsonObject;
  #copy: JsonObject | undefined;

  constructor(request: AdmissionRequest, original: JsonObject) {
    this.request = request;
    this.original = original;
  }

  /** The pod as the steps so far made it; not to be written to. */
  get pod(): JsonObject {
    return this.#copy ?? this.original;
  }

  /** The pod, to be written to: its own members, and those of them that `writableObject` and `writableList` give. */
  edit(): JsonObject {
    this.#copy ??= { ...this.original };
    return this.#copy;
  }

  /** From now on the pod is this one, which is nobody else's. */
  replace(pod: JsonObject): void {
    this.#copy = pod;
  }

  get changed(): boolean {
    return this.#copy !== undefined;
  }

  get metadata(): JsonObject {
    return objectAt(this.pod, "metadata");
  }

  get spec(): JsonObject {
    return objectAt(this.pod, "spec");
  }

  get labels(): Labels {
    return textsAt(this.metadata, "labels");
  }

  /** Neither at its end nor being deleted: restored copies of pods may be created so. */
  get isActive(): boolean {
    const { phase } = objectAt(this.pod, "status");
    return phase !== "Succeeded" && phase !== "Failed" && !this.metadata["deletionTimestamp"];
  }

  /** That of the request where the pod has none (spec pod-webhook 2, rule 2); never part of the patch. */
  get namespace(): string {
    const namespace = this.metadata["namespace"];
    return typeof namespace === "string" && namespace !== "" ? namespace : this.request.namespace;
  }
}

/** A copy of a member that is an object, empty where there is none, in its place and to be written to. */
export function writableObject(parent: JsonObject, key: string): JsonObject {
  const present = own(parent, key);
  const copy = isJsonObject(present) ? { ...present } : {};
  put(parent, key, copy);
  return copy;
}

/** The same of a list. Its elements are still those of the request. */
export function writableList(parent: JsonObject, key: string): unknown[] {
  const present = own(parent, key);
  const copy: unknown[] = Array.isArray(present) ? [...present] : [];
  put(parent, key, copy);
  return copy;
}
