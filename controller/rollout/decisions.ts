/**
 * What one pass of a rollout decides. The parts of a plan read a state that nobody changes (state.ts), and tell all that they
 * decide to one collector, so that each sees which pods are taken.
 */
import type { Pod } from "../../kube/index.ts";
import type { Action, Plan, PodPatchAction, Waiting } from "./writes/actions.ts";

/** Texts of the status, by concern: what a pod needs cannot even be asked for. */
interface DecidedFailures {
  scale?: string;
  update?: string;
}

/** What the collectors of one pass have in common. */
interface Shared {
  readonly failures: DecidedFailures;
  /** UIDs of pods. */
  readonly taken: Set<string>;
  readonly proposed: PodPatchAction[];
  requeueAfterMs: number | undefined;
}

/** Worked out where a plan explains itself, which no reconciler asks for: it may cost as much as there are pods. */
type LazyWaiting = () => Iterable<Waiting>;

/** Whether a plan says what it waits for. */
export interface Explaining {
  readonly explains: boolean;
}

export class Decisions {
  readonly #shared: Shared;
  readonly #actions: Action[] = [];
  readonly #waiting: (Waiting | LazyWaiting)[] = [];
  #last: Decisions | undefined;

  /** `shared`: with the collector whose `last` it is. Default: it is the first of its pass. */
  constructor(shared: Shared = { failures: {}, taken: new Set(), proposed: [], requeueAfterMs: undefined }) {
    this.#shared = shared;
  }

  /** Actions and reasons that come after all others, whenever they are decided. */
  get last(): Decisions {
    this.#last ??= new Decisions(this.#shared);
    return this.#last;
  }

  /** Taken so far, without those that come last. */
  get actions(): readonly Action[] {
    return this.#actions;
  }

  get failures(): Readonly<DecidedFailures> {
    return this.#shared.failures;
  }

  /** A pod gets at most one action in a pass. */
  take(action: Action): void {
    this.#actions.push(action);
    if (action.type === "patch pod" || action.type === "delete pod") this.hold(action.pod);
  }

  takeAll(actions: Iterable<Action>): void {
    for (const action of actions) this.take(action);
  }

  /** Takes the action after those of this pass but the last, unless another one is taken for its pod. */
  propose(action: PodPatchAction): void {
    this.#shared.proposed.push(action);
  }

  /** The pod gets no action in this pass. */
  hold({ uid }: Pod): void {
    this.#shared.taken.add(uid);
  }

  /** Whether the pod has got its action, or gets none. */
  isTaken({ uid }: Pod): boolean {
    return this.#shared.taken.has(uid);
  }

  /** Whether the pod may get an action. `busy`: a write of it is in flight. */
  isFree({ pod, busy }: { readonly pod: Pod; readonly busy: boolean }): boolean {
    return !busy && !this.isTaken(pod);
  }

  /** Why the rollout does not go on. */
  wait(...reasons: readonly (Waiting | LazyWaiting)[]): void {
    this.#waiting.push(...reasons);
  }

  /** In so many milliseconds time alone changes the plan. Undefined: never. */
  requeueAfter(afterMs: number | undefined): void {
    const before = this.#shared.requeueAfterMs ?? Number.POSITIVE_INFINITY;
    if (afterMs !== undefined) this.#shared.requeueAfterMs = Math.min(before, afterMs);
  }

  /** The first text of a concern is the one that the status says. */
  fail(concern: keyof DecidedFailures, text: string): void {
    this.#shared.failures[concern] ??= text;
  }

  /** The result of the pass, with the status that goes with it. */
  plan<Status>(status: Status, { explains }: Explaining): Plan<Status> {
    const { proposed, requeueAfterMs } = this.#shared;
    for (const action of proposed) if (!this.isTaken(action.pod)) this.take(action);
    const last = this.#last;
    return {
      actions: last === undefined ? this.#actions : [...this.#actions, ...last.#actions],
      status,
      waiting: explains ? [...this.#reasons(), ...(last === undefined ? [] : last.#reasons())] : [],
      requeueAfterMs,
    };
  }

  *#reasons(): Generator<Waiting> {
    for (const reason of this.#waiting) {
      if (typeof reason === "function") yield* reason();
      else yield reason;
    }
  }
}
