/** Checked reads of JSON objects whose schema this program does not know. */
import type { IntOrString, KubeObject, LabelSelector, LabelSelectorRequirement } from "../kube/core/index.ts";

/** Any object of the API, as JSON. */
export type AnyObject = KubeObject & Readonly<Record<string, unknown>>;
export type Fields = Readonly<Record<string, unknown>>;
/** A step into an object (name) or list (index). */
export type Step = string | number;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isAnyObject(value: unknown): value is AnyObject {
  return isFields(value) && isFields(value["metadata"]);
}

export function toAnyObject(value: unknown): AnyObject {
  if (isAnyObject(value)) return value;
  throw new TypeError("not an object with metadata");
}

/** The value at a path, or undefined where the path leaves the data. */
export function at(value: unknown, ...path: readonly Step[]): unknown {
  let current = value;
  for (const step of path) {
    if (Array.isArray(current)) current = typeof step === "number" ? current[step] : undefined;
    else if (isFields(current)) current = Object.hasOwn(current, step) ? current[step] : undefined;
    else return undefined;
  }
  return current;
}

export function textAt(value: unknown, ...path: readonly Step[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === "string" ? found : undefined;
}

export function numberAt(value: unknown, ...path: readonly Step[]): number | undefined {
  const found = at(value, ...path);
  return typeof found === "number" ? found : undefined;
}

/** A counter of a status: absent counts as 0, as the API omits zeros. */
export function countAt(value: unknown, ...path: readonly Step[]): number {
  return numberAt(value, ...path) ?? 0;
}

export function listAt(value: unknown, ...path: readonly Step[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

export function fieldsAt(value: unknown, ...path: readonly Step[]): Fields {
  const found = at(value, ...path);
  return isFields(found) ? found : {};
}

/** String map such as labels; values of other types are left out. */
export function textsAt(value: unknown, ...path: readonly Step[]): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [key, text] of Object.entries(fieldsAt(value, ...path))) {
    if (typeof text === "string") texts[key] = text;
  }
  return texts;
}

/** The condition of this type in the object's status. */
export function conditionOf(object: unknown, type: string): unknown {
  return listAt(object, "status", "conditions").find((condition) => textAt(condition, "type") === type);
}

/** Whether the object's controller has one of these UIDs. */
export function isControlledBy(object: AnyObject, owners: ReadonlySet<string>): boolean {
  const references = listAt(object, "metadata", "ownerReferences");
  const uid = textAt(
    references.find((each) => at(each, "controller") === true),
    "uid",
  );
  return uid !== undefined && owners.has(uid);
}

export function intOrStringAt(value: unknown, ...path: readonly Step[]): IntOrString | undefined {
  const found = at(value, ...path);
  return typeof found === "number" || typeof found === "string" ? found : undefined;
}

/** A LabelSelector of a spec; malformed parts are left out, as the server would have refused them. */
export function selectorAt(value: unknown, ...path: readonly Step[]): LabelSelector {
  const matchExpressions: LabelSelectorRequirement[] = [];
  for (const entry of listAt(value, ...path, "matchExpressions")) {
    const key = textAt(entry, "key");
    const operator = textAt(entry, "operator");
    const values = listAt(entry, "values").filter((text) => typeof text === "string");
    if (key === undefined) continue;
    if (operator === "In" || operator === "NotIn") matchExpressions.push({ key, operator, values });
    if (operator === "Exists" || operator === "DoesNotExist") matchExpressions.push({ key, operator });
  }
  return { matchLabels: textsAt(value, ...path, "matchLabels"), matchExpressions };
}

/** Equality of JSON values; a missing member equals an explicit null, order of members does not matter. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if ((a === undefined || a === null) && (b === undefined || b === null)) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  }
  if (!isFields(a) || !isFields(b)) return false;
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => sameJson(a[name], b[name]));
}
