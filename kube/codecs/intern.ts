/**
 * Shares equal values between decoded objects: what thousands of pods have in common is held once.
 * Bounded: a table keeps at most two generations of `limit` entries; what is not met any more falls out.
 */

import { WireError } from "../../proto/core/index.ts";
import type { protobuf } from "./wire_reader.ts";

export class InternTable<V> {
  readonly #limit: number;
  #young = new Map<string, V>();
  #old = new Map<string, V>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: string): V | undefined {
    const value = this.#young.get(key);
    if (value !== undefined) return value;
    const kept = this.#old.get(key);
    if (kept !== undefined) {
      this.#old.delete(key);
      this.set(key, kept);
    }
    return kept;
  }

  set(key: string, value: V): V {
    if (this.#young.size >= this.#limit) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
    return value;
  }
}

/** The bytes from `start` to `end` as a string of as many characters: an exact key of those bytes. */
export function bytesKey(buffer: Buffer, start: number, end: number): string {
  return buffer.toString("latin1", start, end);
}

/** Shares strings. Longer ones are rarely equal and are not tried. */
export class StringIntern {
  readonly #table: InternTable<string>;
  readonly #longest: number;

  constructor(limit: number, longest: number) {
    this.#table = new InternTable(limit);
    this.#longest = longest;
  }

  /** Reads a length-delimited string. */
  read(reader: protobuf.Reader, buffer: Buffer): string {
    const end = endOfField(reader);
    const start = reader.pos;
    reader.pos = end;
    if (start === end) return "";
    if (end - start > this.#longest) return buffer.toString("utf8", start, end);
    const key = bytesKey(buffer, start, end);
    const held = this.#table.get(key);
    if (held !== undefined) return held;
    return this.#table.set(key, isAscii(key) ? key : buffer.toString("utf8", start, end));
  }
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) return false;
  return true;
}

/** Reads the length of a field; returns where it ends. Throws WireError when that is past the message. */
export function endOfField(reader: protobuf.Reader, limit = reader.len): number {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > limit) throw new WireError("a field runs past the end of its message");
  return end;
}
