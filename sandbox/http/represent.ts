/** Objects and lists as bytes, in the form that the client asked for. */
import { stringify } from "yaml";
import type { StoredObject } from "../cluster.ts";
import type { Fields } from "../json.ts";
import type { Served } from "../resources/resource.ts";
import type { Revision } from "../revision.ts";
import type { Reply } from "./exchange.ts";
import type { Media } from "./negotiate.ts";
import { type ListMeta, protobufList, protobufObject } from "./protobuf.ts";

export interface TableOptions {
  /** `None`, `Metadata` or `Object`. */
  readonly includeObject: string;
  /** Milliseconds, for ages. */
  readonly now: number;
}

const comma = Buffer.from(",");
const objectStart = Buffer.from("{");
const objectEnd = Buffer.from("}");

function typeMeta(kind: string, apiVersion: string): Buffer {
  return Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)}`);
}

/** The whole object as JSON. */
export function objectJson(revision: Revision, served: Served): Buffer {
  return Buffer.concat([typeMeta(served.kind, served.apiVersion), comma, revision.members, objectEnd]);
}

export function partialMetadata(object: StoredObject): Fields {
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata };
}

export function plainReply(code: number, value: Fields, media: Media): Reply {
  return { code, contentType: media.contentType, body: encodeJson(value, media) };
}

function encodeJson(value: unknown, media: Media): Buffer {
  if (media.encoding === "yaml") return Buffer.from(stringify(value));
  return Buffer.from(`${media.pretty ? JSON.stringify(value, null, 2) : JSON.stringify(value)}\n`);
}

export function objectReply(
  code: number,
  revision: Revision,
  served: Served,
  media: Media,
  options: TableOptions,
): Reply {
  const { contentType } = media;
  if (media.as === "Table") {
    const meta = { resourceVersion: revision.object.metadata.resourceVersion ?? "" };
    return plainReply(code, tableOf([revision], served, options, meta), media);
  }
  if (media.as === "PartialObjectMetadata") return plainReply(code, partialMetadata(revision.object), media);
  if (media.encoding === "protobuf") return { code, contentType, body: protobufObject(revision, served) };
  if (media.encoding === "yaml" || media.pretty) return plainReply(code, revision.object, media);
  return { code, contentType, body: Buffer.concat([objectJson(revision, served), Buffer.from("\n")]) };
}

export function listReply(
  revisions: readonly Revision[],
  served: Served,
  meta: ListMeta,
  media: Media,
  options: TableOptions,
): Reply {
  const { contentType } = media;
  if (media.as === "Table") return plainReply(200, tableOf(revisions, served, options, meta), media);
  if (media.as !== "") {
    const items = revisions.map((revision) => partialMetadata(revision.object));
    const list = { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1", metadata: meta, items };
    return plainReply(200, list, media);
  }
  if (media.encoding === "protobuf") {
    return { code: 200, contentType, body: protobufList(revisions, served, meta) };
  }
  if (media.encoding === "yaml" || media.pretty) {
    const items = revisions.map((revision) => listItem(revision, served));
    const list = { kind: served.listKind, apiVersion: served.apiVersion, metadata: meta, items };
    return plainReply(200, list, media);
  }
  return { code: 200, contentType, body: listJson(revisions, served, meta) };
}

/** Built-in kinds are sent without apiVersion and kind inside lists. */
function listItem(revision: Revision, served: Served): Fields {
  if (served.resource.custom) return revision.object;
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = revision.object;
  return rest;
}

function listJson(revisions: readonly Revision[], served: Served, meta: ListMeta): Buffer {
  const start = served.resource.custom
    ? Buffer.concat([typeMeta(served.kind, served.apiVersion), comma])
    : objectStart;
  const parts: Buffer[] = [
    typeMeta(served.listKind, served.apiVersion),
    Buffer.from(`,"metadata":${JSON.stringify(meta)},"items":[`),
  ];
  revisions.forEach((revision, at) => {
    if (at > 0) parts.push(comma);
    parts.push(start, revision.members, objectEnd);
  });
  parts.push(Buffer.from("]}\n"));
  return Buffer.concat(parts);
}

export function tableOf(
  revisions: readonly Revision[],
  served: Served,
  options: TableOptions,
  meta: ListMeta,
  headers = true,
): Fields {
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: meta,
    columnDefinitions: headers ? served.printer.columns : null,
    rows: revisions.map((revision) => ({
      cells: served.printer.row(revision.object, options.now),
      ...rowObject(revision, options.includeObject),
    })),
  };
}

function rowObject(revision: Revision, includeObject: string): Fields {
  if (includeObject === "None") return { object: null };
  if (includeObject === "Object") return { object: revision.object };
  return { object: partialMetadata(revision.object) };
}
