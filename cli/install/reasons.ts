/** Why an installation is as it is: comments of the printed objects, beside the field that they are about. */
import { Document, isMap, isNode, isScalar } from "yaml";
import type { AnyObject } from "../fields.ts";

/** By `Kind/name` and the path of the field: `spec.ports.0`. */
export type Reasons = Readonly<Record<string, Readonly<Record<string, string>>>>;

const width = 110;

/** YAML with a comment above each field that has one. */
export function explainedYaml(object: AnyObject, reasons: Reasons): string {
  const document = new Document(object, { aliasDuplicateObjects: false });
  const comments = reasons[`${object.kind}/${object.metadata.name}`] ?? {};
  for (const [path, reason] of Object.entries(comments)) {
    const place = path.split(".").map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    const field = nodeAt(document, place);
    // What depends on options may not be there.
    if (field !== undefined) field.commentBefore = commentOf(reason, place.length);
  }
  return document.toString({ lineWidth: 0 });
}

/** The key of a field, or an item of a list. */
function nodeAt(document: Document, place: readonly (string | number)[]) {
  const parent = document.getIn(place.slice(0, -1), true);
  const last = place.at(-1);
  if (isMap(parent)) {
    return parent.items
      .map(({ key }) => key)
      .filter(isScalar)
      .find(({ value }) => value === last);
  }
  const item = document.getIn(place, true);
  return isNode(item) ? item : undefined;
}

/** Wrapped into lines, each with the space after its #. */
function commentOf(reason: string, depth: number): string {
  const lines = [""];
  for (const word of reason.split(" ")) {
    const last = lines.length - 1;
    const line = `${lines[last]} ${word}`;
    if (line.length > width - 2 * depth) lines.push(` ${word}`);
    else lines[last] = line;
  }
  return lines.join("\n");
}
