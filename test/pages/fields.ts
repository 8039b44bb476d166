/** Fields of a kind that its page names: in the table `field | meaning`, and as paths in its text. */
import { type JsonSchema, type KindDefinition, versionSchema } from "../../crds/index.ts";
import { isJsonObject, own } from "../../kube/core/index.ts";

interface Row {
  /** From the object on: `spec.subsets[].name`. */
  readonly paths: readonly string[];
  /** Single names in the meaning: of fields below those, beside them, or at the top of the spec. */
  readonly names: readonly string[];
  /** Whether it speaks of v1alpha1 as well. */
  readonly isOfBoth: boolean;
}

const head = "| field | meaning |";

/** What the page names and the newest version, or the one that the row speaks of, does not have. */
export function lostFields(page: string, kind: KindDefinition): string[] {
  const schemas = kind.versions.map((version) => versionSchema(kind, version)).reverse();
  const has = (path: string, isOfBoth: boolean): boolean =>
    schemas.slice(0, isOfBoth ? 2 : 1).some((schema) => hasField(schema, path));
  const inTable = rowsOf(page).flatMap(({ paths, names, isOfBoth }) => [
    ...paths.filter((path) => !has(path, isOfBoth)),
    ...names.filter((name) => !paths.some((path) => nearby(path, name).some((at) => has(at, isOfBoth)))),
  ]);
  const inText = pathsIn(page.slice(0, page.indexOf(head)), schemas[0] ?? {});
  return [...inTable, ...inText.filter((path) => !has(path, false))];
}

function rowsOf(page: string): Row[] {
  const [, table = ""] = page.split(head);
  const rows = table.matchAll(/^\| (?!---)(.+?) \| (.+) \|$/gm);
  return [...rows].map(([, field = "", meaning = ""]) => ({
    paths: spansIn(field).flatMap(pathsOf),
    names: spansIn(meaning).filter((span) => /^[a-z]\w*$/.test(span) && span !== "true"),
    isOfBoth: meaning.includes("v1alpha1"),
  }));
}

function spansIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, span = ""]) => span);
}

/** Of `a.b, c`: `spec.a.b` and `spec.a.c`. */
function pathsOf(span: string): string[] {
  const [first = "", ...others] = span.split(", ");
  const whole = /^(spec|status)\b/.test(first) ? first : `spec.${first}`;
  return [whole, ...others.map((name) => beside(whole, name))];
}

function nearby(path: string, name: string): string[] {
  return [`${path}.${name}`, `${path}[].${name}`, beside(path, name), `spec.${name}`];
}

function beside(path: string, name: string): string {
  return `${path.slice(0, path.lastIndexOf("."))}.${name}`;
}

/** Spans of prose that begin as a path of the kind does. */
function pathsIn(text: string, schema: JsonSchema): string[] {
  const prose = text.replaceAll(/^```.*?^```/gms, "");
  return spansIn(prose)
    .filter((span) => /^[a-z]\w*(\[\])?(\.[a-z]\w*(\[\])?)+$/.test(span))
    .map((span) => (/^(spec|status)\./.test(span) ? span : `spec.${span}`))
    .filter((path) => hasField(schema, path.split(".").slice(0, 2).join(".")));
}

/** `[]` steps into a list. What a schema leaves open it may have. */
function hasField(schema: unknown, path: string): boolean {
  let at = schema;
  for (const step of path.split(".").flatMap((name) => name.split(/(?=\[\])/))) {
    if (!isJsonObject(at)) return false;
    if (at["x-kubernetes-preserve-unknown-fields"] === true && !isJsonObject(at["properties"])) return true;
    at = step === "[]" ? at["items"] : own(isJsonObject(at["properties"]) ? at["properties"] : {}, step);
  }
  return isJsonObject(at);
}
