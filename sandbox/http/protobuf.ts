/** The wire form `application/vnd.kubernetes.protobuf`: envelopes, lists and watch frames of built-in objects. */
import { errorText } from "../../kube/core/index.ts";
import { kubernetes } from "../../proto/index.ts";
import type { Fields } from "../json.ts";
import type { Served } from "../resources/resource.ts";
import type { Revision } from "../revision.ts";
import { badRequest } from "./api_error.ts";
import { decodeMessage, encodeMessage, messageOf, ProtobufError } from "./protobuf_codec.ts";

export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

type Kind = Pick<Served, "apiVersion" | "kind">;

export function protobufKnows({ apiVersion, kind }: Kind): boolean {
  return messageOf(apiVersion, kind) !== undefined;
}

function messageBytes(revision: Revision, { apiVersion, kind }: Kind): Uint8Array {
  return revision.cached(`protobuf ${apiVersion}`, () =>
    encodeMessage(messageOf(apiVersion, kind) ?? "", revision.object),
  );
}

export function protobufObject(revision: Revision, served: Kind): Buffer {
  return Buffer.from(kubernetes.wrap(served.apiVersion, served.kind, messageBytes(revision, served)));
}

export function protobufList(revisions: readonly Revision[], served: Kind, meta: ListMeta): Buffer {
  const items = revisions.map((revision) => messageBytes(revision, served));
  return Buffer.from(kubernetes.encodeList(served.apiVersion, served.kind, meta, items));
}

/** Kinds that are answered at once and have no revision. */
function protobufValue(value: Fields, { apiVersion, kind }: Kind): Buffer {
  return Buffer.from(
    kubernetes.wrap(apiVersion, kind, encodeMessage(messageOf(apiVersion, kind) ?? "", value)),
  );
}

export function protobufStatus(status: Fields): Buffer {
  return protobufValue(status, { apiVersion: "v1", kind: "Status" });
}

export function protobufFrame(type: string, revision: Revision, served: Kind): Buffer {
  return Buffer.from(kubernetes.watchFrame(type, protobufObject(revision, served)));
}

export function protobufStatusFrame(type: string, status: Fields): Buffer {
  return Buffer.from(kubernetes.watchFrame(type, protobufStatus(status)));
}

/** A body in this form as JSON, with apiVersion and kind. Throws 400. */
export function protobufBody(bytes: Buffer): Fields {
  try {
    const { apiVersion, kind, raw } = kubernetes.unwrap(bytes);
    const message = messageOf(apiVersion, kind);
    if (message === undefined)
      throw new ProtobufError(`no kind ${JSON.stringify(kind)} of ${JSON.stringify(apiVersion)}`);
    return { apiVersion, kind, ...decodeMessage(message, raw) };
  } catch (error) {
    throw badRequest(`the object provided is unrecognized: ${errorText(error)}`);
  }
}
