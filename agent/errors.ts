/** Errors of agent/: what happens next is decided from `code` alone. */

export type AgentErrorCode =
  /** The runtime does not know the object. */
  | "NotFound"
  /** The name (pod, container, attempt) is taken: another hand was first. */
  | "AlreadyExists"
  /** No answer within the deadline. */
  | "Timeout"
  /** Nobody listens on the socket, or the connection broke. */
  | "Unavailable"
  /** The runtime does not have this RPC or this version of the API. */
  | "Unimplemented"
  | "PermissionDenied"
  /** The request is refused as malformed; trying again is of no use. */
  | "Invalid"
  /** The answer is larger than the limit. */
  | "TooLarge"
  /** The answer is not the message it should be. */
  | "Decode"
  /** The caller gave up. */
  | "Aborted"
  /** The runtime failed in a way of its own; the message is its text. */
  | "Runtime"
  | "Config"
  /** A file of the agent's state is damaged or cannot be written. */
  | "State";

export class AgentError extends Error {
  override readonly name = "AgentError";
  readonly code: AgentErrorCode;

  constructor(code: AgentErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

export function isAgentError(error: unknown, ...codes: readonly AgentErrorCode[]): error is AgentError {
  return error instanceof AgentError && (codes.length === 0 || codes.includes(error.code));
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
