/** What a distributed Secret or ConfigMap holds, in the form in which the API server stores it. Pure. */
import {
  configKeyErrors,
  type FieldError,
  invalid,
  isJsonObject,
  type JsonObject,
  keyPath,
  type Labels,
  own,
  tooLong,
  utf8Length,
} from "../../kube/core/index.ts";

export const distributedKinds = ["Secret", "ConfigMap"] as const;
export type DistributedKind = (typeof distributedKinds)[number];

/** Everything of an object but its metadata. Absent members are empty. */
export interface DistributedContent {
  /** Of Secrets. */
  readonly type?: string;
  readonly immutable?: true;
  /** Of Secrets in base64. */
  readonly data?: Labels;
  /** Of ConfigMaps, in base64. */
  readonly binaryData?: Labels;
}

/** The API server's limit for all values of one object together, bytes. */
const LARGEST_BYTES = 1_048_576;

/**
 * The content as the API server would store it: `stringData` merged into `data`, the type filled in, base64 in its usual
 * form. Equal contents are equal values, whichever way they were written. What `contentErrors` refuses counts as absent.
 */
export function contentOf(kind: DistributedKind, object: JsonObject): DistributedContent {
  const immutable = object["immutable"] === true ? { immutable: true as const } : {};
  if (kind === "ConfigMap") {
    const binary = textsOf(object["binaryData"]).map(([key, text]) => [key, usualBase64(text)] as const);
    return { ...immutable, ...member("data", textsOf(object["data"])), ...member("binaryData", binary) };
  }
  const { type } = object;
  const data = textsOf(object["data"]).map(([key, text]) => [key, usualBase64(text)] as const);
  const plain = textsOf(object["stringData"]).map(([key, text]) => [key, base64Of(text)] as const);
  return {
    type: typeof type === "string" && type !== "" ? type : "Opaque",
    ...immutable,
    ...member("data", [...data, ...plain]),
  };
}

/** What no API server would store; paths are those of the object itself. No value is repeated: it may be secret. */
export function contentErrors(kind: DistributedKind, object: JsonObject): FieldError[] {
  const members = kind === "Secret" ? ["data", "stringData"] : ["data", "binaryData"];
  const errors = members.flatMap((name) => memberErrors(name, object[name], isEncoded(kind, name)));
  if (errors.length > 0) return errors;
  const { data = {}, binaryData = {} } = contentOf(kind, object);
  const encoded = Object.values(kind === "Secret" ? data : binaryData);
  const plain = kind === "Secret" ? [] : Object.values(data);
  const bytes = [...encoded.map((text) => Buffer.byteLength(text, "base64")), ...plain.map(utf8Length)];
  const total = bytes.reduce((sum, each) => sum + each, 0);
  return total > LARGEST_BYTES ? [tooLong("data", LARGEST_BYTES)] : [];
}

function isEncoded(kind: DistributedKind, name: string): boolean {
  return name === "binaryData" || (kind === "Secret" && name === "data");
}

function memberErrors(name: string, value: unknown, encoded: boolean): FieldError[] {
  if (value === undefined || value === null) return [];
  if (!isJsonObject(value)) return [invalid(name, undefined, "must be a map of strings")];
  return Object.keys(value).flatMap((key) => {
    const path = keyPath(name, key);
    const errors = configKeyErrors(key).map((message) => invalid(path, key, message));
    const text = own(value, key) ?? "";
    if (typeof text !== "string") return [...errors, invalid(path, undefined, "must be a string")];
    return encoded && !isBase64(text) ? [...errors, invalid(path, undefined, "must be base64")] : errors;
  });
}

/** Members that are texts; null stands for the empty text. */
function textsOf(value: unknown): (readonly [key: string, text: string])[] {
  if (!isJsonObject(value)) return [];
  return Object.keys(value).flatMap((key) => {
    const text = own(value, key) ?? "";
    return typeof text === "string" ? [[key, text] as const] : [];
  });
}

function member(
  name: "data" | "binaryData",
  entries: readonly (readonly [string, string])[],
): Pick<DistributedContent, "data" | "binaryData"> {
  return entries.length === 0 ? {} : { [name]: Object.fromEntries(entries) };
}

function base64Of(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/** Line breaks are ignored by the server's decoder and not kept by its encoder. */
function usualBase64(text: string): string {
  return Buffer.from(text, "base64").toString("base64");
}

function isBase64(text: string): boolean {
  const joined = text.replaceAll("\n", "").replaceAll("\r", "");
  return joined.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(joined);
}
