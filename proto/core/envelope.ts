/**
 * The frames of the API server's protobuf bodies: the bytes `k8s\0` and a runtime.Unknown around every object; in a
 * watch stream four bytes of length (big endian) before each meta/v1 WatchEvent, whose object has an envelope again.
 */

import protobuf from "protobufjs/minimal.js";
import { encode, WireError } from "../wire.ts";
import * as core from "./gen/core.ts";

export const protobufType = "application/vnd.kubernetes.protobuf";

const magic = [0x6b, 0x38, 0x73, 0x00] as const;

export interface Enveloped {
  apiVersion: string;
  kind: string;
  /** The object's own message; a view of the body. */
  raw: Uint8Array;
}

export function wrap(apiVersion: string, kind: string, raw: Uint8Array): Uint8Array {
  const unknown = encode(core.Unknown, { typeMeta: { apiVersion, kind }, raw });
  const body = new Uint8Array(magic.length + unknown.byteLength);
  body.set(magic);
  body.set(unknown, magic.length);
  return body;
}

/** Throws WireError when the body is not an envelope. Copies nothing but the two names. */
export function unwrap(body: Uint8Array): Enveloped {
  if (body.byteLength < magic.length || magic.some((byte, at) => body[at] !== byte)) {
    throw new WireError("the body does not start with k8s\\0");
  }
  return reading("Unknown", () => {
    const found: Enveloped = { apiVersion: "", kind: "", raw: body.subarray(0, 0) };
    const reader = protobuf.Reader.create(body);
    reader.pos = magic.length;
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      if (tag === 10) readTypeMeta(reader, found);
      else if (tag === 18) found.raw = view(reader);
      else reader.skipType(tag & 7);
    }
    return found;
  });
}

function readTypeMeta(reader: protobuf.Reader, found: Enveloped): void {
  const end = reader.uint32() + reader.pos;
  if (end > reader.len) throw new WireError("TypeMeta: truncated");
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === 10) found.apiVersion = reader.string();
    else if (tag === 18) found.kind = reader.string();
    else reader.skipType(tag & 7);
  }
}

/** The bytes of a length-delimited field, without copying them. */
export function view(reader: protobuf.Reader): Uint8Array {
  const length = reader.uint32();
  const start = reader.pos;
  if (start + length > reader.len) throw new WireError("a field runs past the end of its message");
  reader.pos = start + length;
  return reader.buf.subarray(start, start + length);
}

/** Turns what protobufjs throws on bad bytes into WireError. */
export function reading<R>(what: string, run: () => R): R {
  try {
    return run();
  } catch (error) {
    if (error instanceof WireError) throw error;
    throw new WireError(`${what}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** One frame of a watch stream. `object` is enveloped. */
export function watchFrame(type: string, object: Uint8Array): Uint8Array {
  const event = encode(core.WatchEvent, { type, object: { raw: object } });
  const frame = new Uint8Array(4 + event.byteLength);
  new DataView(frame.buffer).setUint32(0, event.byteLength);
  frame.set(event, 4);
  return frame;
}

export interface WatchFrame {
  type: string;
  /** Enveloped; a view of the stream's bytes. */
  object: Uint8Array;
}

export function readWatchFrame(event: Uint8Array): WatchFrame {
  return reading("WatchEvent", () => {
    const found: WatchFrame = { type: "", object: event.subarray(0, 0) };
    const reader = protobuf.Reader.create(event);
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      if (tag === 10) found.type = reader.string();
      else if (tag === 18) found.object = readRaw(view(reader));
      else reader.skipType(tag & 7);
    }
    return found;
  });
}

function readRaw(extension: Uint8Array): Uint8Array {
  const reader = protobuf.Reader.create(extension);
  let raw = extension.subarray(0, 0);
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === 10) raw = view(reader);
    else reader.skipType(tag & 7);
  }
  return raw;
}

export interface ListFrame {
  resourceVersion: string;
  continue: string;
  /** The items' messages, without envelopes; views. */
  items: Uint8Array[];
}

/** Every list kind has its metadata in field 1 and its items in field 2. */
export function readListFrame(list: Uint8Array): ListFrame {
  return reading("list", () => {
    const found: ListFrame = { resourceVersion: "", continue: "", items: [] };
    const reader = protobuf.Reader.create(list);
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      if (tag === 10) readListMeta(view(reader), found);
      else if (tag === 18) found.items.push(view(reader));
      else reader.skipType(tag & 7);
    }
    return found;
  });
}

function readListMeta(bytes: Uint8Array, found: ListFrame): void {
  const reader = protobuf.Reader.create(bytes);
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === 18) found.resourceVersion = reader.string();
    else if (tag === 26) found.continue = reader.string();
    else reader.skipType(tag & 7);
  }
}
