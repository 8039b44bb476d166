/** A refusal of the server (meta/v1 Status, or whatever a proxy answers) as a KubeError. */

import { decodeStatus, type Status } from "./codecs/status_body.ts";
import { KubeError, type KubeErrorCode } from "./errors.ts";

const codes: Readonly<Record<number, KubeErrorCode>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "UnsupportedMediaType",
  408: "Timeout",
  409: "Conflict",
  410: "Gone",
  413: "TooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "ServerError",
  502: "Unavailable",
  503: "Unavailable",
  504: "Timeout",
};

/** The code for an HTTP status, the `reason` of its Status and those of its causes. */
function codeOfStatus(status: number, reason: string, causes: readonly { reason?: string }[]): KubeErrorCode {
  if (status === 403 && causes.some((cause) => cause.reason === "NamespaceTerminating"))
    return "NamespaceTerminating";
  if (reason === "AlreadyExists") return "AlreadyExists";
  if (reason === "Expired" || reason === "Gone") return "Gone";
  return codes[status] ?? (status >= 500 ? "ServerError" : "BadRequest");
}

export function refusal(
  what: string,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): KubeError {
  const decoded = decodeStatus(body, headers["content-type"] ?? "");
  const retryAfterMs = retryAfter(headers["retry-after"], decoded);
  const message = decoded?.message || plainText(body) || `HTTP ${status}`;
  const causes = decoded?.details.causes ?? [];
  return new KubeError(codeOfStatus(status, decoded?.reason ?? "", causes), `${what}: ${message}`, {
    status,
    said: message,
    ...(decoded?.reason ? { reason: decoded.reason } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    // A store that did not answer in time may have stored it all the same. With Retry-After the server says that it did not begin.
    ambiguous: status >= 500 && retryAfterMs === undefined,
    causes,
    ...(decoded?.details.kind ? { about: { kind: decoded.details.kind, name: decoded.details.name } } : {}),
  });
}

const longestRetryAfterSeconds = 3600;

function retryAfter(header: string | undefined, status: Status | undefined): number | undefined {
  const seconds = header === undefined ? status?.details.retryAfterSeconds : Number(header);
  if (seconds === undefined || !Number.isFinite(seconds) || seconds < 0) return undefined;
  return Math.min(seconds, longestRetryAfterSeconds) * 1000;
}

/** What a proxy or an early failure says, shortened to one line. */
function plainText(body: Uint8Array): string {
  const text = new TextDecoder()
    .decode(body.subarray(0, 400))
    .replace(/[^\x20-\x7e]+/g, " ")
    .trim();
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
