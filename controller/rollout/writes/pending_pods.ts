/**
 * Pods with a write in flight as they will be after it, by UID; new ones by `in-flight/<name>`. How many there are of each
 * kind is counted, and what changed is reported, so that nobody needs to walk through thousands of them for one answer.
 */
import type { Pod } from "../../../kube/index.ts";

/** Id of a write that creates the pod of that name, and UID of the pod until it has one; other writes have their pod's. */
export const CREATING = "in-flight/";

/** A pod whose creation has not been answered yet. */
export function isBeingCreated(pod: Pod): boolean {
  return pod.uid.startsWith(CREATING);
}

/** Reported changes go back this far; a reader that looked longer ago walks through all pods. */
const REMEMBERED = 4096;

type WriteKind = "create" | "delete" | "update";

export class PendingPods extends Map<string, Pod> {
  readonly #counts: Record<WriteKind, number> = { create: 0, delete: 0, update: 0 };
  /** Ids in the order of their changes; the first of them is change number `#forgotten`. */
  #changes: string[] = [];
  #forgotten = 0;

  /** Writes of each kind. */
  get counts(): Readonly<Record<WriteKind, number>> {
    return this.#counts;
  }

  /** How many changes there have been. */
  get version(): number {
    return this.#forgotten + this.#changes.length;
  }

  /** Ids, perhaps several times, that were set or deleted since the version; undefined: it is too long ago. */
  changesSince(version: number): readonly string[] | undefined {
    return version < this.#forgotten ? undefined : this.#changes.slice(version - this.#forgotten);
  }

  override set(id: string, pod: Pod): this {
    const before = this.get(id);
    if (before !== undefined) this.#counts[kindOf(before)]--;
    this.#counts[kindOf(pod)]++;
    this.#changed(id);
    return super.set(id, pod);
  }

  override delete(id: string): boolean {
    const before = this.get(id);
    if (before === undefined) return false;
    this.#counts[kindOf(before)]--;
    this.#changed(id);
    return super.delete(id);
  }

  override clear(): void {
    for (const id of [...this.keys()]) this.delete(id);
  }

  #changed(id: string): void {
    if (this.#changes.length >= 2 * REMEMBERED) {
      this.#forgotten += REMEMBERED;
      this.#changes = this.#changes.slice(REMEMBERED);
    }
    this.#changes.push(id);
  }
}

function kindOf(pod: Pod): WriteKind {
  if (isBeingCreated(pod)) return "create";
  return pod.deletionAt === undefined ? "update" : "delete";
}
