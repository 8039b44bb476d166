/** How long a node's failed pod waits before it is replaced: the longer the more often it failed. Spec: daemonset rule 14. */

const FIRST_MS = 1000;
const LONGEST_MS = 15 * 60 * 1000;
/** Calm for this long forgets what was before. */
const CALM_MS = 2 * LONGEST_MS;

interface Entry {
  waitMs: number;
  /** When a pod was last replaced there, monotonic milliseconds. */
  at: number;
}

/** One a set: a new generation begins again, since it may be the cure. */
export class FailedPods {
  readonly #byNode = new Map<string, Entry>();
  readonly #now: () => number;
  #generation: number | undefined;

  /** `now` in monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** `generation` is the one that the status has observed. */
  observe(generation: number | undefined): void {
    if (generation === this.#generation) return;
    this.#generation = generation;
    this.#byNode.clear();
  }

  /** Milliseconds until a failed pod of the node may be replaced; 0 when it may be now. */
  waitMs(node: string): number {
    const entry = this.#byNode.get(node);
    return entry === undefined ? 0 : Math.max(0, entry.at + entry.waitMs - this.#now());
  }

  /** A failed pod of the node is being replaced. */
  replaced(node: string): void {
    const now = this.#now();
    const before = this.#byNode.get(node);
    const calm = before === undefined || now - before.at > CALM_MS;
    this.#byNode.set(node, { waitMs: calm ? FIRST_MS : Math.min(LONGEST_MS, before.waitMs * 2), at: now });
    if (this.#byNode.size > 64) this.#forgetCalm(now);
  }

  #forgetCalm(now: number): void {
    for (const [node, { at }] of this.#byNode) if (now - at > CALM_MS) this.#byNode.delete(node);
  }
}
