/** meta/v1 Status from a body in JSON or protobuf; undefined when the body is something else. */
import { core, decode, unwrap } from "../../proto/core/index.ts";
import { isObject, type JsonObject, listAt, numberAt, objectAt, parseJson, stringAt } from "./json_values.ts";
import { isProtobuf } from "./projection.ts";

export interface Status {
  code: number;
  reason: string;
  message: string;
  details: {
    kind: string;
    name: string;
    retryAfterSeconds: number | undefined;
    causes: { reason: string; message: string; field: string }[];
  };
}

export function decodeStatus(body: Uint8Array, contentType: string): Status | undefined {
  try {
    if (isProtobuf(contentType)) return protobufStatus(body);
    if (!contentType.includes("json")) return undefined;
    const value = parseJson(body);
    return isObject(value) && value["kind"] === "Status" ? statusOf(value) : undefined;
  } catch {
    // The caller still has the HTTP status; a body that cannot be read adds nothing.
    return undefined;
  }
}

function protobufStatus(body: Uint8Array): Status | undefined {
  const { kind, raw } = unwrap(body);
  if (kind !== "Status") return undefined;
  const { code, reason, message, details } = decode(core.Status, raw);
  return {
    code,
    reason,
    message,
    details: {
      kind: details?.kind ?? "",
      name: details?.name ?? "",
      retryAfterSeconds: details?.retryAfterSeconds || undefined,
      causes: details?.causes ?? [],
    },
  };
}

function statusOf(value: JsonObject): Status {
  const details = objectAt(value, "details");
  const seconds = details["retryAfterSeconds"];
  return {
    code: numberAt(value, "code"),
    reason: stringAt(value, "reason"),
    message: stringAt(value, "message"),
    details: {
      kind: stringAt(details, "kind"),
      name: stringAt(details, "name"),
      retryAfterSeconds: typeof seconds === "number" ? seconds : undefined,
      causes: listAt(details, "causes").map((cause) => ({
        reason: stringAt(cause, "reason"),
        message: stringAt(cause, "message"),
        field: stringAt(cause, "field"),
      })),
    },
  };
}
