/** Pods counted by the revision that their label names, as one of the counts of an index. */

export type RevisionCount = `revision ${string}`;

const PREFIX = "revision ";

/** What pods with this revision label count as; without one: by an empty name. */
export function revisionCount(label: string | undefined): RevisionCount {
  return `revision ${label ?? ""}`;
}

/** The labels among what anything is counted as. */
export function countedRevisions(counted: Iterable<string>): string[] {
  return [...counted].filter((what) => what.startsWith(PREFIX)).map((what) => what.slice(PREFIX.length));
}
