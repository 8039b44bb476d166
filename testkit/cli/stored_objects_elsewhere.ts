/** The stored objects as they are where their pods need certain nodes: patched as data. */
import { type AnyObject, at, fieldsAt, isFields, listAt, textAt } from "../../cli/fields.ts";

export interface StoredPlace {
  readonly namespace: string;
  /** All nodes that pods with these labels, selector and tolerations may run on. */
  readonly nodes: readonly [string, string];
  readonly labels: Readonly<Record<string, string>>;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly unknown[];
}

/** Templates change with the place, and with them the hashes in the names of their revisions. */
export function objectsAt(place: StoredPlace, objects: readonly AnyObject[]): AnyObject[] {
  const names = new Map([
    ["shop", place.namespace],
    ["node1", place.nodes[0]],
    ["node2", place.nodes[1]],
  ]);
  let moved: AnyObject[] = JSON.parse(JSON.stringify(objects), (_name, value: unknown) => {
    if (typeof value === "string") return names.get(value) ?? value;
    if (!isFields(value)) return value;
    if (listAt(value, "spec", "containers").length > 0 && textAt(value, "metadata", "labels", "app"))
      return { ...value, metadata: labelled(value, place), spec: specAt(place, value) };
    // The labels of a CloneSet's revision are those of its template.
    const isOfCloneSet = at(value, "metadata", "ownerReferences", 0, "kind") === "CloneSet";
    if (isOfCloneSet && value["kind"] === "ControllerRevision")
      return { ...value, metadata: labelled(value, place) };
    return value;
  });
  // A template of an owner's own children has the owner's hash: those of owners come first, as the objects do.
  for (const [index, object] of objects.entries()) {
    if (object.kind !== "ControllerRevision") continue;
    const text = JSON.stringify(moved).replaceAll(revisionHash(object), revisionHash(moved[index]));
    moved = JSON.parse(text);
  }
  return moved;
}

function labelled(value: unknown, { labels }: StoredPlace): object {
  return { ...fieldsAt(value, "metadata"), labels: { ...fieldsAt(value, "metadata", "labels"), ...labels } };
}

function specAt({ nodeSelector, tolerations }: StoredPlace, value: unknown): object {
  return {
    ...fieldsAt(value, "spec"),
    nodeSelector,
    tolerations: [...tolerations, ...listAt(value, "spec", "tolerations")],
  };
}

const letters = "bcdfghjklmnpqrstvwxz2456789";

/** As the reference makes it of the data, independent of this program's own code. Spec: statefulset 43, uniteddeployment 7. */
function revisionHash(revision: unknown): string {
  let hash = 0x811c9dc5;
  const bytes = Buffer.from(`${sortedJson(at(revision, "data"))}0`);
  for (const byte of bytes) hash = (Math.imul(hash, 0x01000193) ^ byte) >>> 0;
  return [...String(hash)].map((digit) => letters[digit.charCodeAt(0) % letters.length]).join("");
}

/** JSON as Go writes it of maps: keys in order, no blanks. */
function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(",")}]`;
  if (!isFields(value)) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${sortedJson(item)}`).join(",")}}`;
}
