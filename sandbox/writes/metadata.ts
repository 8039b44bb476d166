/** Rules for `metadata`, the same for all kinds. */
import {
  type FieldError,
  forbidden as forbiddenField,
  invalid as invalidField,
  type ObjectMeta,
  qualifiedNameErrors,
  required,
  validateLabels,
} from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { objectsAt, textAt } from "../json.ts";
import type { Served } from "../resources/resource.ts";

const annotationsLimit = 256 * 1024;

export function validateMetadata(object: StoredObject, served: Served): FieldError[] {
  const errors: FieldError[] = [];
  const metadata = object.metadata;
  const name = metadata.name ?? "";
  const generateName = metadata.generateName ?? "";
  if (generateName !== "") {
    const trial = generateName.replace(/-+$/, "") === generateName ? generateName : `${generateName}a`;
    for (const message of served.resource.strategy.nameErrors(trial)) {
      errors.push(invalidField("metadata.generateName", generateName, message));
    }
  }
  if (name === "") {
    errors.push(required("metadata.name", "name or generateName is required"));
  } else {
    for (const message of served.resource.strategy.nameErrors(name)) {
      errors.push(invalidField("metadata.name", name, message));
    }
  }
  errors.push(...validateLabels(metadata.labels, "metadata.labels"));
  errors.push(...validateAnnotations(metadata.annotations));
  errors.push(...validateOwners(object));
  for (const finalizer of metadata.finalizers ?? []) {
    for (const message of qualifiedNameErrors(finalizer)) {
      errors.push(invalidField("metadata.finalizers", finalizer, message));
    }
  }
  return errors;
}

function validateAnnotations(annotations: Record<string, string> | undefined): FieldError[] {
  const errors: FieldError[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    size += key.length + value.length;
    for (const message of qualifiedNameErrors(key.toLowerCase())) {
      errors.push(invalidField("metadata.annotations", key, message));
    }
  }
  if (size > annotationsLimit) {
    errors.push({
      path: "metadata.annotations",
      type: "TooLong",
      detail: `may not be more than ${annotationsLimit} bytes`,
    });
  }
  return errors;
}

function validateOwners(object: StoredObject): FieldError[] {
  const errors: FieldError[] = [];
  let controller = "";
  objectsAt(object, "metadata", "ownerReferences").forEach((owner, at) => {
    const path = `metadata.ownerReferences[${at}]`;
    if (textAt(owner, "apiVersion") === "") {
      errors.push(invalidField(`${path}.apiVersion`, "", "must not be empty"));
    }
    for (const field of ["kind", "name", "uid"]) {
      if (textAt(owner, field) === "") errors.push(invalidField(`${path}.${field}`, "", "must not be empty"));
    }
    if (owner["controller"] !== true) return;
    const text = `${textAt(owner, "kind")}/${textAt(owner, "name")}`;
    if (controller !== "") {
      const detail = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${text}`;
      errors.push(invalidField("metadata.ownerReferences", object.metadata.ownerReferences, detail));
    }
    controller = text;
  });
  return errors;
}

/** What may not change between two states of one object. */
export function validateMetadataUpdate(object: StoredObject, stored: StoredObject): FieldError[] {
  const errors: FieldError[] = [];
  const before = new Set(stored.metadata.finalizers ?? []);
  const added = (object.metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
  if (stored.metadata.deletionTimestamp !== undefined && added.length > 0) {
    errors.push(
      forbiddenField(
        "metadata.finalizers",
        `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((name) => JSON.stringify(name)).join(", ")}}`,
      ),
    );
  }
  return errors;
}

const systemFields = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "generation",
  "generateName",
] as const satisfies readonly (keyof ObjectMeta)[];

/** Puts back what only the server sets. */
export function restoreSystemMetadata(draft: StoredObject, stored: StoredObject): void {
  const target: Record<string, unknown> = { ...draft.metadata };
  for (const field of systemFields) {
    if (stored.metadata[field] === undefined) delete target[field];
    else target[field] = stored.metadata[field];
  }
  delete target["selfLink"];
  draft.metadata = target;
}
