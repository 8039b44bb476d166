/** Metadata that every object has. */
import { invalid, tooLong } from "../../field_errors.ts";
import { compareBytes, utf8Length } from "../../go_text.ts";
import { isJsonObject } from "../../json.ts";
import { dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from "../../names.ts";
import { validateLabels } from "../../selector.ts";
import type { FieldError, Labels } from "../../types.ts";
import { Cursor } from "./cursor.ts";

/** Complaints about a name. */
export type NameRule = (name: string) => readonly string[];

export interface ObjectMetaRules {
  readonly namespaced: boolean;
  /** Default: DNS subdomain. */
  readonly nameRule?: NameRule;
  /** Core kinds only know finalizers with a domain, and a few standard ones. */
  readonly coreKind?: boolean;
}

const ANNOTATION_BYTES = 256 * 1024;

/** Validates `metadata`; `path` is where it is, usually `metadata`. */
export function validateObjectMeta(
  meta: object | undefined,
  path: string,
  rules: ObjectMetaRules,
): FieldError[] {
  const errors: FieldError[] = [];
  const cursor = new Cursor(isJsonObject(meta) ? meta : {}, path, errors);
  const nameRule = rules.nameRule ?? dnsSubdomainErrors;
  cursor.followsIfSet("generateName", (name) => prefixErrors(name, nameRule));
  if (cursor.needsText("name", "name or generateName is required")) cursor.follows("name", nameRule);
  validateNamespace(cursor, rules.namespaced);
  const generation = cursor.number("generation") ?? 0;
  if (generation < 0) cursor.invalid("generation", generation, "must be greater than or equal to 0");
  errors.push(...validateLabels(textMap(cursor, "labels"), cursor.at("labels")));
  errors.push(...validateAnnotations(textMap(cursor, "annotations"), cursor.at("annotations")));
  validateOwners(cursor);
  validateFinalizers(cursor, rules.coreKind ?? false);
  return errors;
}

/** A name that will get a suffix may end with a dash. */
export function prefixErrors(prefix: string, rule: NameRule): readonly string[] {
  return rule(prefix.endsWith("-") && prefix.length > 1 ? `${prefix.slice(0, -2)}a` : prefix);
}

export function textMap(parent: Cursor, key: string): Labels {
  const map = parent.object(key)?.value ?? {};
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(map)) if (typeof value === "string") texts[name] = value;
  return texts;
}

function validateNamespace(cursor: Cursor, namespaced: boolean): void {
  if (!namespaced) {
    if (cursor.text("namespace") !== "") cursor.forbidden("namespace", "not allowed on this type");
  } else if (cursor.needsText("namespace")) cursor.follows("namespace", dnsLabelErrors);
}

export function validateAnnotations(annotations: Labels | undefined, path: string): FieldError[] {
  const errors: FieldError[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(annotations ?? {}).sort(([a], [b]) => compareBytes(a, b))) {
    size += utf8Length(key) + utf8Length(value);
    errors.push(...qualifiedNameErrors(key.toLowerCase()).map((message) => invalid(path, key, message)));
  }
  if (size > ANNOTATION_BYTES) errors.push(tooLong(path, ANNOTATION_BYTES));
  return errors;
}

function validateOwners(cursor: Cursor): void {
  const at = "ownerReferences";
  let controller = "";
  for (const owner of cursor.objects(at)) {
    if (!/^([^/]*\/)?[^/]+$/.test(owner.text("apiVersion"))) {
      cursor.invalid(`${at}.apiVersion`, owner.text("apiVersion"), "version must not be empty");
    }
    for (const key of ["kind", "name", "uid"]) {
      if (owner.text(key) === "") cursor.invalid(`${at}.${key}`, "", "must not be empty");
    }
    if (owner.text("apiVersion") === "v1" && owner.text("kind") === "Event") {
      cursor.invalid(at, owner.value, "/v1, Kind=Event is disallowed from being an owner");
    }
    if (!owner.flag("controller")) continue;
    const name = `${owner.text("kind")}/${owner.text("name")}`;
    if (controller !== "") {
      const detail = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`;
      cursor.invalid(at, cursor.list(at), detail);
    } else controller = name;
  }
}

const standardFinalizers = ["kubernetes", "orphan", "foregroundDeletion"];

function validateFinalizers(cursor: Cursor, coreKind: boolean): void {
  const finalizers = cursor.texts("finalizers");
  for (const finalizer of finalizers)
    cursor.complain("finalizers", finalizer, qualifiedNameErrors(finalizer));
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    cursor.invalid("finalizers", finalizers, "finalizer orphan and foregroundDeletion cannot be both set");
  }
  if (!coreKind) return;
  for (const [index, finalizer] of finalizers.entries()) {
    if (finalizer.includes("/") || standardFinalizers.includes(finalizer)) continue;
    const detail = "name is neither a standard finalizer name nor is it fully qualified";
    cursor.invalid(`finalizers[${index}]`, finalizer, detail);
  }
}
