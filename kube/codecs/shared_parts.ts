/** What pods on the wire have alike: texts, maps and lists, of which equal ones are read once and shared. */
import { WireError } from "../../proto/core/index.ts";
import type { ResourceAmounts } from "../pod.ts";
import { bytesKey, endOfField, InternTable, StringIntern } from "./intern.ts";
import type { protobuf } from "./wire_reader.ts";

export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
/** A shared value and its number, from which keys of lists are made. */
export type Shared<V> = { readonly id: number; readonly value: V };

export const none: readonly never[] = Object.freeze([]);
export const noAmounts: ResourceAmounts = Object.freeze({});
export const noLabels: Readonly<Record<string, string>> = Object.freeze({});
/** Metadata of `kubectl apply`: as large as the pod's spec and read by nobody here. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** One set of tables: values that they share are numbered together. */
export class SharedParts {
  readonly #strings = new StringIntern(8192, 80);
  readonly #images = new StringIntern(2048, 512);
  readonly #amounts = new InternTable<Shared<ResourceAmounts>>(1024);
  readonly #lists = new InternTable<readonly string[]>(4096);
  #nextId = 0;

  /** The number of the next shared value. */
  nextId(): number {
    return this.#nextId++;
  }

  /** Names, values and other short texts. */
  string(reader: protobuf.Reader, buffer: Buffer): string {
    return this.#strings.read(reader, buffer);
  }

  /** Names and digests of images. */
  image(reader: protobuf.Reader, buffer: Buffer): string {
    return this.#images.read(reader, buffer);
  }

  /** An entry of a map of texts. */
  entry(reader: protobuf.Reader, buffer: Buffer, into: Record<string, string>): void {
    let key = "";
    let value = "";
    each(reader, (tag) => {
      if (tag === 10) key = this.string(reader, buffer);
      else if (tag === 18) value = this.string(reader, buffer);
      else return false;
      return true;
    });
    if (key !== lastApplied) into[key] = value;
  }

  /** A ResourceRequirements. */
  amounts(reader: protobuf.Reader, buffer: Buffer): Shared<ResourceAmounts> {
    return this.shared(this.#amounts, reader, buffer, () => {
      const limits: Record<string, string> = {};
      const requests: Record<string, string> = {};
      each(reader, (tag) => {
        if (tag === 10) this.#quantity(reader, buffer, limits);
        else if (tag === 18) this.#quantity(reader, buffer, requests);
        else return false;
        return true;
      });
      return amountsOf(limits, requests);
    });
  }

  #quantity(reader: protobuf.Reader, buffer: Buffer, into: Record<string, string>): void {
    let key = "";
    let value = "";
    each(reader, (tag) => {
      if (tag === 10) key = this.string(reader, buffer);
      else if (tag === 18) value = this.firstString(reader, buffer);
      else return false;
      return true;
    });
    into[key] = value;
  }

  /** A message of which only the string in field 1 matters. */
  firstString(reader: protobuf.Reader, buffer: Buffer): string {
    let value = "";
    each(reader, (tag) => {
      if (tag !== 10) return false;
      value = this.string(reader, buffer);
      return true;
    });
    return value;
  }

  /** An equal list. */
  strings(list: readonly string[]): readonly string[] {
    if (list.length === 0) return none;
    const key = list.join("\n");
    return this.#lists.get(key) ?? this.#lists.set(key, list.slice());
  }

  /** The value made of the message that comes next; equal bytes give the same one. */
  shared<V>(
    table: InternTable<Shared<V>>,
    reader: protobuf.Reader,
    buffer: Buffer,
    make: () => V,
  ): Shared<V> {
    const start = reader.pos;
    const end = endOfField(reader);
    const key = bytesKey(buffer, reader.pos, end);
    const held = table.get(key);
    if (held) {
      reader.pos = end;
      return held;
    }
    reader.pos = start;
    return table.set(key, { id: this.#nextId++, value: make() });
  }
}

/** Reads a message field by field: `read` takes a field by its tag or returns false to have it skipped. */
export function each(reader: protobuf.Reader, read: (tag: number) => boolean): void {
  const end = endOfField(reader);
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (!read(tag)) reader.skipType(tag & 7);
  }
  if (reader.pos !== end) throw new WireError("a field runs past the end of its message");
}

/** meta/v1 Time in milliseconds. */
export function readTime(reader: protobuf.Reader): number {
  let seconds = 0;
  let nanos = 0;
  each(reader, (tag) => {
    if (tag === 8) seconds = Number(reader.int64());
    else if (tag === 16) nanos = reader.int32();
    else return false;
    return true;
  });
  return seconds * 1000 + Math.floor(nanos / 1_000_000);
}

/** The map; an empty one is the same for all. */
export function orShared(map: Record<string, string>): Readonly<Record<string, string>> {
  return Object.keys(map).length === 0 ? noLabels : map;
}

/** Without what is empty. */
export function amountsOf(limits: Record<string, string>, requests: Record<string, string>): ResourceAmounts {
  return {
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(Object.keys(requests).length === 0 ? {} : { requests }),
  };
}
