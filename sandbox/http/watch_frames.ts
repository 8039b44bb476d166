/** One event of a watch as bytes. */
import type { Fields } from "../json.ts";
import type { Served } from "../resources/resource.ts";
import { Revision } from "../revision.ts";
import type { Media } from "./negotiate.ts";
import { protobufFrame, protobufStatusFrame } from "./protobuf.ts";
import { objectJson, partialMetadata, type TableOptions, tableOf } from "./represent.ts";

interface FrameContext {
  readonly served: Served;
  readonly table: TableOptions;
  /** Tables name their columns in the first event only. */
  readonly headers: boolean;
}

export function frameContentType(media: Media): string {
  return media.encoding === "protobuf"
    ? "application/vnd.kubernetes.protobuf;stream=watch"
    : "application/json";
}

/** `value` is a revision with its context, or a Status. */
export function encodeFrame(
  type: string,
  value: Revision | Fields,
  media: Media,
  context?: FrameContext,
): Buffer {
  if (media.encoding === "protobuf") {
    if (!(value instanceof Revision)) return protobufStatusFrame(type, value);
    if (context !== undefined) return protobufFrame(type, value, context.served);
  }
  const start = Buffer.from(`{"type":"${type}","object":`);
  const end = Buffer.from("}\n");
  if (!(value instanceof Revision)) return Buffer.concat([start, Buffer.from(JSON.stringify(value)), end]);
  return Buffer.concat([start, objectBytes(type, value, media, context), end]);
}

function objectBytes(
  type: string,
  revision: Revision,
  media: Media,
  context: FrameContext | undefined,
): Buffer {
  if (context === undefined) return Buffer.from(JSON.stringify(revision.object));
  if (media.as === "Table" && type !== "BOOKMARK") {
    const meta = { resourceVersion: revision.object.metadata.resourceVersion ?? "" };
    return Buffer.from(
      JSON.stringify(tableOf([revision], context.served, context.table, meta, context.headers)),
    );
  }
  if (media.as === "Table") {
    const empty = { kind: "Table", apiVersion: "meta.k8s.io/v1", metadata: revision.object.metadata };
    return Buffer.from(JSON.stringify({ ...empty, columnDefinitions: null, rows: [] }));
  }
  if (media.as !== "") return Buffer.from(JSON.stringify(partialMetadata(revision.object)));
  return objectJson(revision, context.served);
}
