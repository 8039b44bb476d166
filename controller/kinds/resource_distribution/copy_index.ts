/**
 * What is known of the namespaces of one distribution, kept up from event to event: an event of one namespace costs that
 * namespace, however many there are.
 */
import type { Labels } from "../../../kube/core/index.ts";
import type { Copy } from "./copies.ts";
import type { Failure, FailureType, ParsedDistribution } from "./plan.ts";
import type { Tally } from "./status.ts";

/** How a namespace was left when it was looked at last. */
export interface Outcome {
  readonly target: boolean;
  readonly left?: true | undefined;
  /** Absent: nothing failed. */
  readonly failure?: Failure | undefined;
}

export class CopyIndex {
  readonly wanted: ParsedDistribution;
  readonly generation: number;
  /** Of targets, and of namespaces that are still to be cleaned. */
  readonly #outcomes = new Map<string, Outcome>();
  readonly #failures = new Map<FailureType, Map<string, string>>();
  /** Namespaces to be looked at: what has just changed goes before the first look at all. */
  readonly #changed = new Set<string>();
  readonly #unseen: Set<string>;
  #desired = 0;
  #failed = 0;

  /** `names`: of all namespaces that may be targets or hold a copy. */
  constructor(wanted: ParsedDistribution, generation: number, names: Iterable<string>) {
    this.wanted = wanted;
    this.generation = generation;
    this.#unseen = new Set([...names, ...wanted.targets.listed].sort());
  }

  /** Whether every namespace has been looked at since the generation began: before that, no number means anything. */
  get isComplete(): boolean {
    return this.#unseen.size === 0;
  }

  /** Whether there is a namespace to be looked at. */
  get hasWork(): boolean {
    return this.#changed.size > 0 || this.#unseen.size > 0;
  }

  /** Reasons by cause, and counts. Live. */
  get tally(): Tally {
    return { desired: this.#desired, failed: this.#failed, failures: this.#failures };
  }

  /** Whether the change of a namespace can matter; undefined: there was or is none. */
  isAbout(name: string, before: Labels | undefined, after: Labels | undefined): boolean {
    const { targets } = this.wanted;
    return this.#outcomes.has(name) || targets.includes(name, before) || targets.includes(name, after);
  }

  /** Whether a copy is as this distribution has just left it. */
  isInPlace(namespace: string, copy: Copy): boolean {
    const { source, uid } = this.wanted;
    const outcome = this.#outcomes.get(namespace);
    if (outcome === undefined || outcome.failure !== undefined || !outcome.target) return false;
    return copy.controllerUid === uid && "hash" in source && copy.content === source.hash;
  }

  /** Whether the object that has the name of a copy can matter. */
  isAboutCopy(namespace: string, copy: Copy): boolean {
    return copy.controllerUid === this.wanted.uid || this.#outcomes.has(namespace);
  }

  /** The namespace is to be looked at soon. */
  touch(name: string): void {
    this.#unseen.delete(name);
    this.#changed.add(name);
  }

  /** The next namespaces to look at; each is given once. */
  take(limit: number): string[] {
    const taken: string[] = [];
    for (const names of [this.#changed, this.#unseen]) {
      for (const name of names) {
        if (taken.length === limit) return taken;
        names.delete(name);
        taken.push(name);
      }
    }
    return taken;
  }

  settle(name: string, outcome: Outcome): void {
    const before = this.#outcomes.get(name);
    if (before !== undefined) this.#count(name, before, -1);
    if (!outcome.target && outcome.left !== true && outcome.failure === undefined) {
      this.#outcomes.delete(name);
      return;
    }
    this.#outcomes.set(name, outcome);
    this.#count(name, outcome, 1);
  }

  #count(name: string, { target, failure }: Outcome, by: 1 | -1): void {
    if (target) this.#desired += by;
    if (failure === undefined) return;
    if (target) this.#failed += by;
    const names = this.#failures.get(failure.type) ?? new Map<string, string>();
    this.#failures.set(failure.type, names);
    if (by === 1) names.set(name, failure.reason);
    else names.delete(name);
  }
}
