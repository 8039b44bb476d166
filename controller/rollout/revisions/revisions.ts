/** Template history in ControllerRevisions. Spec: inplace-update 4.11, cloneset 4.2. */
import { isSameRevision, type PodTemplate, type RevisedPart } from "../../../crds/index.ts";
import {
  isJsonObject,
  type JsonObject,
  type ObjectMeta,
  revisionHash,
  type Selector,
} from "../../../kube/core/index.ts";
import type { ControllerRevision } from "../../../kube/index.ts";
import { type Dependants, ownerKeyOf } from "../../plan/owners.ts";

export const HASH_LABEL = "controller.kubernetes.io/hash";

/** The part after the last `-`: full and short revision labels of the same revision are equal in it. Rule 16. */
export function shortHash(revision: string): string {
  return revision.slice(revision.lastIndexOf("-") + 1);
}

/** Compares from the end, without making strings: a plan asks this of every pod. */
export function sameRevision(a: string, b: string): boolean {
  if (a === "" || b === "") return false;
  if (a === b) return true;
  for (let inA = a.length - 1, inB = b.length - 1; ; inA--, inB--) {
    const endsA = inA < 0 || a[inA] === "-";
    const endsB = inB < 0 || b[inB] === "-";
    if (endsA || endsB) return endsA && endsB;
    if (a[inA] !== b[inB]) return false;
  }
}

/** A revision by what a plan needs of it; `stored` is undefined when it is still to be created. */
export interface Revision {
  name: string;
  number: number;
  data: string;
  stored: ControllerRevision | undefined;
}

export interface RevisionSearch {
  update: Revision;
  /** What has to be written before anything else may refer to `update`. */
  write: "none" | "create" | "renumber";
  collisionCount: number;
}

interface ReadRevisions {
  readonly owned: { readonly revisions: Dependants<ControllerRevision> };
  readonly orphans: { revisionsIn(namespace: string): Iterable<ControllerRevision> };
}

/**
 * Revisions of a workload, and those of its namespace that nobody controls and its selector matches, sorted by number.
 * Spec: inplace-update, rule 39.
 */
export function revisionsOf(
  metadata: ObjectMeta,
  selector: Selector,
  { owned, orphans }: ReadRevisions,
): ControllerRevision[] {
  const own = [...owned.revisions.of(ownerKeyOf(metadata))];
  for (const orphan of orphans.revisionsIn(metadata.namespace ?? "")) {
    if (selector.matches(orphan.labels)) own.push(orphan);
  }
  return own.sort(byNumber);
}

/** The revision that pods were at before, as the status names it; the update revision if it no longer exists. */
export function currentRevision(
  name: string | undefined,
  revisions: readonly ControllerRevision[],
  update: Revision,
): Revision {
  if (name === undefined || name === "" || name === update.name) return update;
  const stored = revisions.find((revision) => revision.name === name);
  return stored === undefined ? update : { name, number: stored.revision, data: stored.data, stored };
}

export function byNumber(a: ControllerRevision, b: ControllerRevision): number {
  return a.revision - b.revision || a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1);
}

/**
 * The revision with this data: an existing one that holds the same, or a new one under a free name.
 * `revisions` are those of the owner, sorted by `byNumber`; `taken` gives the data of a name in use elsewhere.
 * One with equal data there does for us, too, as long as it exists: it is another owner's, or that of a former
 * owner of our name that is about to be collected (spec inplace-update, rule 38).
 */
export function findRevision(
  ownerName: string,
  { data, part }: { readonly data: string; readonly part: RevisedPart },
  revisions: readonly ControllerRevision[],
  collisionCount: number,
  taken: (name: string) => string | undefined = () => undefined,
): RevisionSearch {
  const newest = revisions.at(-1);
  const next = (newest?.revision ?? 0) + 1;
  for (let index = revisions.length - 1; index >= 0; index--) {
    const stored = revisions[index];
    if (stored === undefined || !isSameRevision(stored.data, data, part)) continue;
    const renumber = stored !== newest && stored.revision !== newest?.revision;
    const update = { name: stored.name, number: renumber ? next : stored.revision, data, stored };
    return { update, write: renumber ? "renumber" : "none", collisionCount };
  }
  for (let count = collisionCount; ; count++) {
    const name = `${ownerName.slice(0, 223)}-${revisionHash(data, count)}`;
    const other = revisions.find((revision) => revision.name === name)?.data ?? taken(name);
    if (other === undefined || isSameRevision(other, data, part)) {
      return {
        update: { name, number: next, data, stored: undefined },
        write: other === undefined ? "create" : "none",
        collisionCount: count,
      };
    }
  }
}

/** The template in a revision's data, or undefined when the data is broken. */
export function templateOf(data: string): Partial<PodTemplate> | undefined {
  try {
    const parsed: unknown = JSON.parse(data);
    const template = isJsonObject(parsed) && isJsonObject(parsed["spec"]) && parsed["spec"]["template"];
    if (!isJsonObject(template)) return undefined;
    const { $patch: _directive, ...rest } = template;
    return isTemplate(rest) ? rest : undefined;
  } catch {
    return undefined;
  }
}

/** Whether its parts are of the right kind; what is in them was validated when it was the workload's. */
function isTemplate(template: JsonObject): template is Partial<PodTemplate> {
  const { metadata = {}, spec = {} } = template;
  if (!isJsonObject(metadata) || !isJsonObject(spec)) return false;
  const { containers = [] } = spec;
  return Array.isArray(containers) && containers.every(isJsonObject);
}

/**
 * Revisions beyond the limit, lowest number first; live ones are never among them. `hashOf`: what `live` names a
 * revision by. Rule 13; daemonset rule 49.
 */
export function surplusRevisions(
  revisions: readonly ControllerRevision[],
  live: ReadonlySet<string>,
  limit: number,
  hashOf: (revision: ControllerRevision) => string = ({ name }) => shortHash(name),
): ControllerRevision[] {
  const idle = revisions.filter((revision) => !live.has(hashOf(revision)));
  return idle.slice(0, Math.max(0, idle.length - Math.max(0, limit)));
}
