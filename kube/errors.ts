/** Errors of kube/: retry is decided from `code` alone. */
import { errorText } from "./core/errors.ts";

export type KubeErrorCode =
  | "BadRequest"
  | "Unauthorized"
  | "Forbidden"
  /** 403: the namespace is being deleted. */
  | "NamespaceTerminating"
  | "NotFound"
  | "MethodNotAllowed"
  | "AlreadyExists"
  /** Not sent: the object is in another namespace than its owner. */
  | "OutsideNamespace"
  | "Conflict"
  | "Gone"
  | "Invalid"
  | "UnsupportedMediaType"
  | "TooLarge"
  | "TooManyRequests"
  | "ServerError"
  | "Unavailable"
  | "Timeout"
  | "Network"
  | "Decode"
  | "Config"
  | "Aborted";

/** `details` of the server's Status. */
export interface RefusedObject {
  /** The resource (`namespaces`); where the object itself was found wrong, its kind (`Pod`). */
  kind: string;
  name: string;
}

export interface KubeErrorDetails {
  /** HTTP status, when the server answered. */
  status?: number;
  /** `reason` of the server's Status object. */
  reason?: string;
  retryAfterMs?: number;
  /** True when the request may have been carried out although no answer arrived. */
  ambiguous?: boolean;
  causes?: readonly { reason?: string; message?: string; field?: string }[];
  about?: RefusedObject;
  /** The server's words alone, without what was asked for. */
  said?: string;
  cause?: unknown;
}

export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly code: KubeErrorCode;
  readonly status: number | undefined;
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  readonly ambiguous: boolean;
  readonly causes: readonly { reason?: string; message?: string; field?: string }[];
  /** What the server says that it is about: not always what was asked for. */
  readonly about: RefusedObject | undefined;
  readonly said: string | undefined;

  constructor(code: KubeErrorCode, message: string, details: KubeErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.status = details.status;
    this.reason = details.reason ?? code;
    this.retryAfterMs = details.retryAfterMs;
    this.ambiguous = details.ambiguous ?? false;
    this.causes = details.causes ?? [];
    this.about = details.about;
    this.said = details.said;
  }
}

/** For users of the API: what the server said where it did, for anything else its own message. */
export function messageOf(error: unknown): string {
  if (error instanceof KubeError && error.said !== undefined) return error.said;
  return errorText(error);
}

/** How a failed write is logged where it happened: what was reported once for its whole namespace is for debugging there. */
export function severityOf(error: unknown): "debug" | "warn" {
  return isKubeError(error, "NamespaceTerminating") ? "debug" : "warn";
}

export function isKubeError(error: unknown, ...codes: readonly KubeErrorCode[]): error is KubeError {
  return error instanceof KubeError && (codes.length === 0 || codes.includes(error.code));
}

/** For what may be gone: `client.get(...).catch(ignoreNotFound)` is undefined then. */
export function ignoreNotFound(error: unknown): undefined {
  if (!isKubeError(error, "NotFound")) throw error;
}
