/** Steps that the admission of kinds without templates shares. */
import { SchemaError } from "../../crds/index.ts";
import { type FieldError, formatFieldErrors } from "../../kube/core/index.ts";
import type { FeatureGates } from "../feature_gates.ts";
import { type AdmissionRequest, type AdmissionResponse, denied } from "./request.ts";

type Read<T> = (value: unknown) => { readonly object: T } | { readonly errors: readonly FieldError[] };

/** The request's object with the right types, or the refusal. */
export function typedObject<T>(
  read: Read<T>,
  value: unknown,
): { readonly object: T } | { readonly refusal: AdmissionResponse } {
  if (value === undefined) return { refusal: denied(400, "there is no content to decode") };
  try {
    const found = read(value);
    return "errors" in found ? { refusal: denied(400, formatFieldErrors(found.errors)) } : found;
  } catch (error) {
    if (error instanceof SchemaError) return { refusal: denied(400, error.message) };
    throw error;
  }
}

/** The refusal while one of the gates is off. */
export function closedGate(
  gates: FeatureGates,
  ...names: readonly (keyof FeatureGates)[]
): AdmissionResponse | undefined {
  const closed = names.find((name) => !gates[name]);
  return closed === undefined ? undefined : denied(403, `feature-gate ${closed} is not enabled`);
}

/** An object that is being deleted may always lose its finalizers. */
export function isBeingDeleted({ operation, oldObject }: AdmissionRequest): boolean {
  const metadata = oldObject?.["metadata"];
  return (
    operation === "UPDATE" &&
    typeof metadata === "object" &&
    metadata !== null &&
    "deletionTimestamp" in metadata &&
    metadata.deletionTimestamp !== null
  );
}
