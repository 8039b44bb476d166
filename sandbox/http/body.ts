/** Request bodies: JSON or YAML, checked against the type that the request is for. */
import { parse as parseYaml } from "yaml";
import type { StoredObject } from "../cluster.ts";
import { decodeCustom } from "../crd/decode.ts";
import { type Fields, isFields, textAt } from "../json.ts";
import { normalize } from "../resources/normal_form.ts";
import { type Served, splitApiVersion } from "../resources/resource.ts";
import type { Shape } from "../resources/shape.ts";
import { decodeTyped, TypeMismatch } from "../resources/typed.ts";
import { ApiError, badRequest, invalid, unsupportedMediaType } from "./api_error.ts";
import { duplicateFields } from "./duplicates.ts";
import type { Exchange } from "./exchange.ts";
import { protobufBody } from "./protobuf.ts";

const bodyTypes = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"] as const;

/** The kind that a body is expected to be of. */
interface Expected {
  readonly apiVersion: string;
  readonly kind: string;
  readonly shape: Shape;
  readonly custom: boolean;
}

export function expectedOf(served: Served): Expected {
  return {
    apiVersion: served.apiVersion,
    kind: served.kind,
    shape: served.shape,
    custom: served.resource.custom,
  };
}

interface ParsedBody {
  readonly value: unknown;
  /** `duplicate field "spec.a"`. */
  readonly duplicates: readonly string[];
}

export async function parseBody(exchange: Exchange, kind: string): Promise<ParsedBody> {
  const type = (exchange.header("content-type") ?? "application/json").split(";")[0]?.trim() ?? "";
  if (type === "application/vnd.kubernetes.protobuf") {
    return { value: protobufBody(await exchange.body()), duplicates: [] };
  }
  const text = (await exchange.body()).toString();
  if (type === "application/json" || type === "") return parseJson(text, kind);
  if (type === "application/yaml") return parseYamlText(text, kind);
  throw unsupportedMediaType(bodyTypes);
}

function parseJson(text: string, kind: string): ParsedBody {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unrecognized(kind, `json parse error: ${error instanceof Error ? error.message : error}`, text);
  }
  return { value, duplicates: duplicateFields(text).map((path) => `duplicate field "${path}"`) };
}

function parseYamlText(text: string, kind: string): ParsedBody {
  try {
    const value: unknown = parseYaml(text);
    return { value, duplicates: [] };
  } catch (error) {
    throw unrecognized(kind, `yaml parse error: ${error instanceof Error ? error.message : error}`, text);
  }
}

function unrecognized(kind: string, why: string, text: string): ApiError {
  const start = text.length > 30 ? `${text.slice(0, 30)} ...` : text;
  return badRequest(
    `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; ${why} (${start})`,
  );
}

/** Reads the body as an object of the expected kind; unknown fields are refused, warned about or dropped. */
export async function readObject(exchange: Exchange, expected: Expected): Promise<StoredObject> {
  const { value, duplicates } = await parseBody(exchange, expected.kind);
  if (!isFields(value)) throw unrecognized(expected.kind, "the body is not an object", String(value));
  return typedObject(exchange, value, expected, duplicates);
}

/** `Strict`, `Warn` or `Ignore`. */
function fieldValidation(exchange: Exchange): string {
  const asked = exchange.query.get("fieldValidation") ?? "";
  if (asked !== "" && asked !== "Strict" && asked !== "Warn" && asked !== "Ignore") {
    throw new ApiError(
      422,
      "Invalid",
      `CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: ${JSON.stringify(asked)}: supported values: "Ignore", "Warn", "Strict"`,
    );
  }
  return asked === "" ? "Warn" : asked;
}

export function typedObject(
  exchange: Exchange,
  value: Fields,
  expected: Expected,
  duplicates: readonly string[] = [],
  options: { readonly asWritten?: boolean } = {},
): StoredObject {
  checkKind(value, expected);
  const { object, unknown } = decode(value, expected);
  const complaints = [...unknown, ...duplicates.filter((text) => !isBelowUnknown(text, unknown))];
  if (complaints.length > 0) {
    const mode = fieldValidation(exchange);
    if (mode === "Strict") throw strictError(expected, complaints);
    if (mode === "Warn") exchange.warnings.push(...complaints);
  }
  return withMetadata(object, expected, options.asWritten ?? false);
}

function strictError(expected: Expected, complaints: readonly string[]): ApiError {
  const { version } = versionOf(expected);
  const list = `strict decoding error: ${complaints.join(", ")}`;
  return badRequest(
    `${expected.kind} in version "${version}" cannot be handled as a ${expected.kind}: ${list}`,
  );
}

function versionOf(expected: Expected): { version: string } {
  return { version: expected.apiVersion.slice(expected.apiVersion.indexOf("/") + 1) };
}

function isBelowUnknown(duplicate: string, unknown: readonly string[]): boolean {
  const path = duplicate.slice('duplicate field "'.length, -1);
  return unknown.some((text) => `${text.slice('unknown field "'.length, -1)}` === path);
}

function checkKind(value: Fields, expected: Expected): void {
  if (expected.custom) {
    checkCustomKind(value, expected);
    return;
  }
  const apiVersion = textAt(value, "apiVersion") || expected.apiVersion;
  const kind = textAt(value, "kind") || expected.kind;
  if (apiVersion === expected.apiVersion && kind === expected.kind) return;
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
  throw badRequest(
    `${kind} in version "${version}" cannot be handled as a ${expected.kind}: no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:110"`,
  );
}

/** Custom objects must say what they are. */
function checkCustomKind(value: Fields, expected: Expected): void {
  const apiVersion = textAt(value, "apiVersion");
  const kind = textAt(value, "kind");
  if (kind === "") {
    const text = JSON.stringify(value);
    throw badRequest(
      `the object provided is unrecognized (must be of type ${expected.kind}): Object 'Kind' is missing in '${text}' (${text})`,
    );
  }
  if (apiVersion !== expected.apiVersion) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected.apiVersion})`,
    );
  }
  if (kind === expected.kind) return;
  const { group } = splitApiVersion(apiVersion);
  throw invalid({ group, kind }, textAt(value, "metadata", "name"), [
    { path: "kind", type: "Invalid", value: kind, detail: `must be ${expected.kind}` },
  ]);
}

function decode(value: Fields, expected: Expected): { object: Fields; unknown: readonly string[] } {
  if (expected.custom) return decodeCustom(value, expected.shape);
  try {
    return decodeTyped(value, expected.shape);
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error;
    const { version } = versionOf(expected);
    throw badRequest(
      `${expected.kind} in version "${version}" cannot be handled as a ${expected.kind}: ${error.message}`,
    );
  }
}

function withMetadata(object: Fields, expected: Expected, asWritten: boolean): StoredObject {
  const { metadata } = object;
  const whole = {
    ...object,
    apiVersion: expected.apiVersion,
    kind: expected.kind,
    metadata: isFields(metadata) ? metadata : {},
  };
  if (!expected.custom && !asWritten) normalize(whole);
  return whole;
}
