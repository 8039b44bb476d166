/** What differs between two versions of a template, field by field. Pure. */
import { type Fields, isFields, sameJson } from "../../fields.ts";
import { redacted } from "../../support/redact.ts";
import { shownText } from "../../why/causes/shown_text.ts";
import type { FieldChange } from "../shared/detail_items.ts";

/** No template is deeper. */
const deepest = 40;
const mostOfValue = 160;

/**
 * Fields in the order of their paths, `containers[web].image`. Elements of lists are told by their names, where all have one.
 * Values that may be secrets, such as those of environment variables, are left out: that they changed is told.
 */
export function fieldChanges(before: Fields, after: Fields): FieldChange[] {
  const changes: FieldChange[] = [];
  compare(
    { path: "", before, after, shownBefore: redacted(before), shownAfter: redacted(after) },
    changes,
    0,
  );
  return changes;
}

/** Values at one path, with the copies of which parts may be shown. */
interface Pair {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly shownBefore: unknown;
  readonly shownAfter: unknown;
}

function compare(pair: Pair, changes: FieldChange[], depth: number): void {
  const { path, before, after } = pair;
  if (sameJson(before, after)) return;
  const members = depth > deepest ? undefined : membersOf(pair);
  for (const member of members ?? []) compare(member, changes, depth + 1);
  if (members !== undefined) return;
  const [from, to] = [valueText(pair.shownBefore), valueText(pair.shownAfter)];
  changes.push({ path: shownText(path), from, to: from === to && from !== "" ? "another value" : to });
}

/** Undefined for what is compared as a whole. */
function membersOf({ path, before, after, shownBefore, shownAfter }: Pair): Pair[] | undefined {
  if (isFields(before) && isFields(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].sort().map((name) => ({
      path: path === "" ? name : `${path}.${name}`,
      before: before[name],
      after: after[name],
      shownBefore: isFields(shownBefore) ? shownBefore[name] : undefined,
      shownAfter: isFields(shownAfter) ? shownAfter[name] : undefined,
    }));
  }
  if (!Array.isArray(before) || !Array.isArray(after)) return undefined;
  const [old, now] = [byName(before, shownBefore), byName(after, shownAfter)];
  if (old === undefined || now === undefined) return undefined;
  return [...new Set([...old.keys(), ...now.keys()])].map((name) => ({
    path: `${path}[${name}]`,
    before: old.get(name)?.value,
    after: now.get(name)?.value,
    shownBefore: old.get(name)?.shown,
    shownAfter: now.get(name)?.shown,
  }));
}

interface Element {
  readonly value: unknown;
  readonly shown: unknown;
}

/** Undefined where elements have no names, or two have the same one. */
function byName(list: readonly unknown[], shown: unknown): Map<string, Element> | undefined {
  const elements = new Map<string, Element>();
  for (const [index, value] of list.entries()) {
    const name = isFields(value) ? value["name"] : undefined;
    if (typeof name !== "string" || elements.has(name)) return undefined;
    elements.set(name, { value, shown: Array.isArray(shown) ? shown[index] : undefined });
  }
  return elements;
}

function valueText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return shownText(typeof value === "string" ? value : JSON.stringify(value), mostOfValue);
}
