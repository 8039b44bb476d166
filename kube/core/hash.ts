/** Hashes that stand in names, labels and annotations, so that every bit of them is on the wire. */
import { compareBytes, goJson } from "./go_text.ts";

const PRIME = 0x01000193;
const OFFSET = 0x811c9dc5;
const encoder = new TextEncoder();

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === "string" ? encoder.encode(data) : data;
}

/** 32-bit FNV-1: multiply, then xor. */
export function fnv32(data: string | Uint8Array): number {
  let hash = OFFSET;
  for (const byte of bytesOf(data)) hash = Math.imul(hash, PRIME) ^ byte;
  return hash >>> 0;
}

/** 32-bit FNV-1a: xor, then multiply. */
export function fnv32a(data: string | Uint8Array): number {
  let hash = OFFSET;
  for (const byte of bytesOf(data)) hash = Math.imul(hash ^ byte, PRIME);
  return hash >>> 0;
}

const SAFE = "bcdfghjklmnpqrstvwxz2456789";

/** Each character of a text turned into one that forms no bad words; digits become `456789bcdf` (rule 37). */
export function safeEncode(text: string): string {
  let encoded = "";
  for (const byte of encoder.encode(text)) encoded += SAFE[byte % SAFE.length];
  return encoded;
}

/** The text of a byte list as Go prints it for debugging: `([]uint8)[123 125]`. */
function byteListText(bytes: Uint8Array): string {
  return `([]uint8)[${bytes.join(" ")}]`;
}

/** FNV-1a over the byte list text of a JSON text: the form of container and claim hashes (rules 24, 25, 41). */
export function jsonTextHash(json: string): number {
  return fnv32a(byteListText(encoder.encode(json)));
}

/** Hash of what a kubelet since 1.31 compares to decide about a restart (spec inplace-update, rule 25). */
export function plainHash(name: string, image: string): number {
  return jsonTextHash(goJson({ image, name }));
}

/** Hash of the resolved environment that comes from metadata, in any order (spec inplace-update, rule 24). */
export function envHash(entries: readonly { readonly name: string; readonly value?: string }[]): number {
  const sorted = entries
    .map(({ name, value }) => ({ name, value: value === "" ? undefined : value }))
    .sort((left, right) => compareBytes(left.name, right.name));
  return jsonTextHash(sorted.length === 0 ? "null" : goJson(sorted));
}
