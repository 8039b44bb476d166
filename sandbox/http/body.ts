/** Request bodies: JSON or YAML, checked against the type that the request is for. */
import { parse as parseYaml } from "yaml";
import { errorText, invalid as fieldInvalid } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { decodeCustom } from "../crd/decode.ts";
import { type Fields, isFields, textAt } from "../json.ts";
import { coreShape } from "../resources/builtin.ts";
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

/** A built-in kind, also one that is only sent. */
export function expectedCore(apiVersion: string, kind: string): Expected {
  const { group, version } = splitApiVersion(apiVersion);
  return { apiVersion, kind, shape: coreShape(group, version, kind), custom: false };
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
  if (type === "application/json" || type === "") {
    const value = parsed("json", JSON.parse, text, kind);
    return { value, duplicates: duplicateFields(text).map((path) => `duplicate field "${path}"`) };
  }
  if (type === "application/yaml") return { value: parsed("yaml", parseYaml, text, kind), duplicates: [] };
  throw unsupportedMediaType(bodyTypes);
}

function parsed(form: string, parse: (text: string) => unknown, text: string, kind: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw unrecognized(kind, `${form} parse error: ${errorText(error)}`, text);
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
    if (mode === "Strict") throw unhandled(expected, `strict decoding error: ${complaints.join(", ")}`);
    if (mode === "Warn") exchange.warnings.push(...complaints);
  }
  return withMetadata(object, expected, options.asWritten ?? false);
}

/** `given` is what the body says that it is. */
function unhandled(
  expected: Expected,
  why: string,
  given: Pick<Expected, "apiVersion" | "kind"> = expected,
): ApiError {
  const { version } = splitApiVersion(given.apiVersion);
  return badRequest(`${given.kind} in version "${version}" cannot be handled as a ${expected.kind}: ${why}`);
}

function isBelowUnknown(duplicate: string, unknown: readonly string[]): boolean {
  const path = duplicate.slice('duplicate field "'.length, -1);
  return unknown.includes(`unknown field "${path}"`);
}

function checkKind(value: Fields, expected: Expected): void {
  if (expected.custom) {
    checkCustomKind(value, expected);
    return;
  }
  const apiVersion = textAt(value, "apiVersion") || expected.apiVersion;
  const kind = textAt(value, "kind") || expected.kind;
  if (apiVersion === expected.apiVersion && kind === expected.kind) return;
  const why = `no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:110"`;
  throw unhandled(expected, why, { apiVersion, kind });
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
  const wrong = fieldInvalid("kind", kind, `must be ${expected.kind}`);
  throw invalid({ group, kind }, textAt(value, "metadata", "name"), [wrong]);
}

function decode(value: Fields, expected: Expected): { object: Fields; unknown: readonly string[] } {
  if (expected.custom) return decodeCustom(value, expected.shape);
  try {
    return decodeTyped(value, expected.shape);
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error;
    throw unhandled(expected, error.message);
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
