/** Texts exactly as Go prints them, because hashes and error messages on the wire depend on them. */
import { isJsonObject } from "./json.ts";

/**
 * JSON without white space, as Go's encoder writes it: `<`, `>`, `&`, U+2028 and U+2029 escaped. Undefined
 * members are left out. Keys keep their order unless `sortKeys`, which sorts them by bytes at every level.
 */
export function goJson(value: unknown, options: { sortKeys?: boolean } = {}): string {
  return encode(value, options.sortKeys ?? false);
}

function encode(value: unknown, sortKeys: boolean): string {
  if (Array.isArray(value)) return `[${value.map((item) => encode(item, sortKeys)).join(",")}]`;
  if (!isJsonObject(value)) return scalar(value);
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  if (sortKeys) keys.sort(compareBytes);
  return `{${keys.map((key) => `${goString(key)}:${encode(value[key], sortKeys)}`).join(",")}}`;
}

function scalar(value: unknown): string {
  if (typeof value === "string") return goString(value);
  return value === undefined ? "null" : JSON.stringify(value);
}

const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that JSON escapes
const special = /["\\<>&\u0000-\u001f\u2028\u2029\ud800-\udfff]/;

function goString(text: string): string {
  // Nearly all texts: half the time of a replacement that finds nothing.
  if (!special.test(text)) return `"${text}"`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that JSON escapes
  const escaped = text.toWellFormed().replace(/["\\<>&\u0000-\u001f\u2028\u2029]/g, (character) => {
    return escapes[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  return `"${escaped}"`;
}

const quoteEscapes: Readonly<Record<string, string>> = {
  ...escapes,
  "\u0007": "\\a",
  "\v": "\\v",
};

/** A string as Go's `%q` prints it. */
export function goQuote(text: string): string {
  let quoted = '"';
  for (const character of text.toWellFormed()) {
    const known = quoteEscapes[character];
    const code = character.codePointAt(0) ?? 0;
    if (known !== undefined) quoted += known;
    else if (code >= 0x20 && code < 0x7f) quoted += character;
    else if (code < 0x20 || code === 0x7f) quoted += `\\x${code.toString(16).padStart(2, "0")}`;
    else if (/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)) quoted += character;
    else if (code > 0xffff) quoted += `\\U${code.toString(16).padStart(8, "0")}`;
    else quoted += `\\u${code.toString(16).padStart(4, "0")}`;
  }
  return `${quoted}"`;
}

/** Order of strings by their UTF-8 bytes, as Go sorts them. */
export function compareBytes(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a === b) continue;
    // Surrogates stand for code points above every other unit, although their units are lower than U+E000.
    const aHigh = a >= 0xd800 && a <= 0xdfff;
    const bHigh = b >= 0xd800 && b <= 0xdfff;
    return aHigh === bHigh ? a - b : aHigh ? 1 : -1;
  }
  return left.length - right.length;
}

const encoder = new TextEncoder();

/** Length in bytes: what the API server counts when it limits names. */
export function utf8Length(text: string): number {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return encoder.encode(text).length;
  return text.length;
}

/** `1.5s`, `2m3.25s`, `310ms`: durations as event texts of the API print them. */
export function goDuration(ms: number): string {
  if (ms < 1000) return `${trimmed(ms)}ms`;
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = `${trimmed((ms % 60_000) / 1000)}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}

function trimmed(value: number): string {
  return String(Number(value.toFixed(6)));
}
