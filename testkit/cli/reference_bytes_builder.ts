/** Names and data of revisions as the reference writes them, independent of this program's own code. */
import { createHash } from "node:crypto";

const letters = "bcdfghjklmnpqrstvwxz2456789";

/** Spec: statefulset 43, uniteddeployment 7, sidecarset 27. */
export function revisionHash(data: string, collisionCount = 0): string {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(data + collisionCount)) hash = (Math.imul(hash, 0x01000193) ^ byte) >>> 0;
  return [...String(hash)].map(mapped).join("");
}

/** Spec: sidecarset 25. */
export function sidecarHash(text: string): string {
  return [...createHash("sha256").update(text).digest("hex")].map(mapped).join("");
}

function mapped(character: string): string {
  return letters[character.charCodeAt(0) % letters.length] ?? "";
}

/** JSON as Go writes it of maps: keys in order, no blanks. */
export function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${sortedJson(item)}`).join(",")}}`;
}

/** Data of a workload's revision: the template as it is stored, with what a typed marshal adds. */
export function templateData(template: Readonly<Record<string, unknown>>): string {
  const { metadata, ...rest } = template;
  const known = typeof metadata === "object" ? metadata : {};
  return sortedJson({
    spec: { template: { $patch: "replace", ...rest, metadata: { creationTimestamp: null, ...known } } },
  });
}
