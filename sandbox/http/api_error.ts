/** Refusals as the API server words them: an HTTP code and a Status object. */
import {
  causeReason,
  type FieldError,
  formatFieldErrorBody,
  formatFieldErrors,
} from "../../kube/core/index.ts";
import type { Fields } from "../json.ts";

interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: { reason?: string; message?: string; field?: string }[];
  retryAfterSeconds?: number;
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status. */
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  /** The Status object that the response carries. */
  toStatus(): Fields {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: this.message,
      ...(this.reason === "" ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

/** What a refusal is about. */
export interface Subject {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

/** `pods`, `deployments.apps`. */
function groupResource(subject: Pick<Subject, "group" | "plural">): string {
  return subject.group === "" ? subject.plural : `${subject.plural}.${subject.group}`;
}

function groupKind(subject: Pick<Subject, "group" | "kind">): string {
  return subject.group === "" ? subject.kind : `${subject.kind}.${subject.group}`;
}

function about(subject: Pick<Subject, "group" | "plural">, name: string): StatusDetails {
  return {
    ...(name === "" ? {} : { name }),
    ...(subject.group === "" ? {} : { group: subject.group }),
    kind: subject.plural,
  };
}

export function notFound(subject: Pick<Subject, "group" | "plural">, name: string): ApiError {
  return new ApiError(404, "NotFound", `${groupResource(subject)} "${name}" not found`, about(subject, name));
}

export function alreadyExists(subject: Subject, name: string, beingDeleted = false): ApiError {
  const message = `${groupResource(subject)} "${name}" already exists`;
  return new ApiError(
    409,
    "AlreadyExists",
    beingDeleted ? `object is being deleted: ${message}` : message,
    about(subject, name),
  );
}

export function conflict(subject: Pick<Subject, "group" | "plural">, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${groupResource(subject)} "${name}": ${why}`;
  return new ApiError(409, "Conflict", message, about(subject, name));
}

export const modifiedMeanwhile =
  "the object has been modified; please apply your changes to the latest version and try again";

export function invalid(
  subject: Pick<Subject, "group" | "kind">,
  name: string,
  errors: readonly FieldError[],
): ApiError {
  const message = `${groupKind(subject)} "${name}" is invalid: ${formatFieldErrors(errors)}`;
  return new ApiError(422, "Invalid", message, {
    ...(name === "" ? {} : { name }),
    ...(subject.group === "" ? {} : { group: subject.group }),
    kind: subject.kind,
    causes: errors.map((error) => ({
      reason: causeReason(error),
      message: formatFieldErrorBody(error),
      field: error.path,
    })),
  });
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, "BadRequest", message);
}

export function forbidden(subject: Pick<Subject, "group" | "plural">, name: string, why: string): ApiError {
  const object = name === "" ? groupResource(subject) : `${groupResource(subject)} "${name}"`;
  return new ApiError(403, "Forbidden", `${object} is forbidden: ${why}`, about(subject, name));
}

export function expired(message: string): ApiError {
  return new ApiError(410, "Expired", message);
}

export function internalError(message: string): ApiError {
  return new ApiError(500, "InternalError", `Internal error occurred: ${message}`, {
    causes: [{ message }],
  });
}

export function noSuchResource(): ApiError {
  return new ApiError(404, "NotFound", "the server could not find the requested resource", {});
}

export function methodNotAllowed(): ApiError {
  return new ApiError(
    405,
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource",
    {},
  );
}

export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`;
  return new ApiError(415, "UnsupportedMediaType", message);
}

export function notAcceptable(accepted: readonly string[]): ApiError {
  const streams = accepted
    .filter((type) => type !== "application/yaml")
    .map((type) => `${type};stream=watch`);
  const message = `406: Not Acceptable\n\nAvailable representations: ${[...accepted, ...streams].join(", ")}`;
  return new ApiError(406, "NotAcceptable", message, {});
}
