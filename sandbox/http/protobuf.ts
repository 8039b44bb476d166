/** The wire form `application/vnd.kubernetes.protobuf`, for the kinds that proto/ knows. */
import { kubernetes } from "../../proto/index.ts";
import type { Fields } from "../json.ts";
import type { Served } from "../resources/resource.ts";
import type { Revision } from "../revision.ts";
import type { ListMeta } from "./represent.ts";

export function protobufKnows(served: Pick<Served, "apiVersion" | "kind">): boolean {
  return kubernetes.hasProtobuf(served.apiVersion, served.kind);
}

function message(revision: Revision, served: Served): Uint8Array {
  return revision.cached(`protobuf ${served.apiVersion}`, () =>
    kubernetes.messageFromJson(served.apiVersion, served.kind, revision.object),
  );
}

export function protobufObject(revision: Revision, served: Served): Buffer {
  return Buffer.from(kubernetes.wrap(served.apiVersion, served.kind, message(revision, served)));
}

export function protobufList(revisions: readonly Revision[], served: Served, meta: ListMeta): Buffer {
  const items = revisions.map((revision) => message(revision, served));
  return Buffer.from(kubernetes.encodeList(served.apiVersion, served.kind, meta, items));
}

export function protobufStatus(status: Fields): Buffer {
  return Buffer.from(kubernetes.encodeFromJson("v1", "Status", status));
}

export function protobufFrame(type: string, revision: Revision, served: Served): Buffer {
  return Buffer.from(kubernetes.watchFrame(type, protobufObject(revision, served)));
}

export function protobufStatusFrame(type: string, status: Fields): Buffer {
  return Buffer.from(kubernetes.watchFrame(type, protobufStatus(status)));
}
