/** What the admission of all kinds shares: objects are read with their types before any rule looks at them. */
import { type Mistyped, SchemaError, type TemplateDefaulting } from "../../../crds/index.ts";
import {
  diffPositional,
  type FieldError,
  formatFieldErrors,
  type JsonObject,
} from "../../../kube/core/index.ts";
import { objectAt } from "../../native/json_fields.ts";
import type { FeatureGates } from "../feature_gates.ts";
import type { ControllerOptions } from "../options.ts";
import {
  type AdmissionHandler,
  type AdmissionRequest,
  type AdmissionResponse,
  allowed,
  denied,
  patched,
} from "./request.ts";

/** Throws SchemaError for an object that it cannot read at all. */
type Read<T> = (value: unknown) => T | Mistyped;

type RequestWithObject = AdmissionRequest & { readonly object: JsonObject };

/**
 * The handler of a mutating webhook: `fill` returns a copy of the object with every default, and must not change what
 * it is given. `old` is there on updates.
 */
export function defaultingHandler(
  read: Read<object>,
  fill: (object: JsonObject, old: JsonObject | undefined, request: AdmissionRequest) => JsonObject,
): AdmissionHandler {
  return (request) => {
    if (!hasObject(request)) return denied(400, "there is no content to decode");
    const next = typed(read, request.object);
    if ("refusal" in next) return isBeingDeleted(request) ? allowed : next.refusal;
    const old = request.operation === "UPDATE" ? request.oldObject : undefined;
    return patched(diffPositional(request.object, fill(request.object, old, request)));
  };
}

/** A handler that asks `answer` about objects with the right types. `old` is there on updates. */
export function typedHandler<T extends object>(
  read: Read<T>,
  answer: (
    next: T,
    old: T | undefined,
    request: RequestWithObject,
  ) => AdmissionResponse | Promise<AdmissionResponse>,
): AdmissionHandler {
  return (request) => {
    if (!hasObject(request)) return denied(400, "there is no content to decode");
    const next = typed(read, request.object);
    if ("refusal" in next) return isBeingDeleted(request) ? allowed : next.refusal;
    const isUpdate = request.operation === "UPDATE" && request.oldObject !== undefined;
    const old = isUpdate ? typed(read, request.oldObject) : undefined;
    // What was stored while no webhook looked may be malformed; that must not keep anybody from putting it right.
    return answer(next.found, old === undefined || "refusal" in old ? undefined : old.found, request);
  };
}

/** How pod templates are filled in, by the gates. */
export function templateDefaulting({ gates }: ControllerOptions): TemplateDefaulting {
  return {
    templateDefaults: !gates.TemplateNoDefaults,
    hostNetworkPorts: gates.DefaultHostNetworkHostPortsInPodTemplates,
  };
}

/** Refuses with all errors, allows without any. */
export function refusedFor(errors: readonly FieldError[], code: number): AdmissionResponse {
  return errors.length === 0 ? allowed : denied(code, formatFieldErrors(errors));
}

function hasObject(request: AdmissionRequest): request is RequestWithObject {
  return request.object !== undefined;
}

function typed<T extends object>(
  read: Read<T>,
  value: unknown,
): { readonly found: T } | { readonly refusal: AdmissionResponse } {
  try {
    const found = read(value);
    return "errors" in found ? { refusal: denied(400, formatFieldErrors(found.errors)) } : { found };
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

/** Refuses while one of the gates is off. */
export function gated(
  gates: FeatureGates,
  names: readonly (keyof FeatureGates)[],
  handler: AdmissionHandler,
): AdmissionHandler {
  return (request) => (isBeingDeleted(request) ? allowed : (closedGate(gates, ...names) ?? handler(request)));
}

/**
 * Whether an update is of an object on its way out: whatever else is wrong with it, it may lose its finalizers. A deletion in the
 * foreground waits for that as well.
 */
export function isBeingDeleted({ operation, oldObject }: AdmissionRequest): boolean {
  return (
    operation === "UPDATE" && (objectAt(oldObject ?? {}, "metadata")["deletionTimestamp"] ?? null) !== null
  );
}
