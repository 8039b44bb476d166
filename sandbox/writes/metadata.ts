/** Rules for `metadata`, the same for all kinds. */
import {
  type FieldError,
  forbidden as forbiddenField,
  type ObjectMeta,
  validateObjectMeta,
} from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import type { Served } from "../resources/resource.ts";

export function validateMetadata(object: StoredObject, served: Served): FieldError[] {
  const { resource } = served;
  return validateObjectMeta(object.metadata, "metadata", {
    namespaced: resource.namespaced,
    nameRule: resource.strategy.nameErrors,
    coreKind: !resource.custom,
  });
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
