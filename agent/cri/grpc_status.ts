/** How a gRPC call ended. */

/** The numbers of the wire; names as in the protocol's documentation. */
export const grpcStatus = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export class GrpcError extends Error {
  override readonly name = "GrpcError";
  readonly status: number;

  /** `details` is the peer's text, or what went wrong here. */
  constructor(status: number, details: string, cause?: unknown) {
    super(details, { cause });
    this.status = status;
  }
}

/** As Go's programs print it: `NotFound`. */
export function statusName(status: number): string {
  const found = Object.entries(grpcStatus).find(([, value]) => value === status)?.[0] ?? "UNKNOWN";
  return found
    .split("_")
    .map((word) => word.charAt(0) + word.slice(1).toLowerCase())
    .join("");
}

/** Status of an answer that is no gRPC at all. */
export function statusOfHttp(status: number): number {
  switch (status) {
    case 401:
      return grpcStatus.UNAUTHENTICATED;
    case 403:
      return grpcStatus.PERMISSION_DENIED;
    case 404:
      return grpcStatus.UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
      return grpcStatus.UNAVAILABLE;
    default:
      return grpcStatus.UNKNOWN;
  }
}

const refusedStream = 7;
const cancelled = 8;

/**
 * Status of a stream that ended without one, by the code of its RST_STREAM. What this side cancels has a status of its own:
 * `cancelled` is then what Node and Deno make of a connection that was closed.
 */
export function statusOfReset(code: number, connectionBroke: boolean): number {
  if (connectionBroke || code === refusedStream || code === cancelled) return grpcStatus.UNAVAILABLE;
  return grpcStatus.INTERNAL;
}
