/**
 * Effects of a pass that are carried out one after another, attempts among them: which write is under way, and what its answer leads
 * to. As controller/runtime/executor does it.
 */
import type { Attempt, Effect, WriteEffect, WriteOutcome } from "../../controller/plan/effects.ts";
import { failureIn, failureOf } from "../../controller/runtime/executor/failure.ts";
import { KubeError, type KubeErrorCode } from "../../kube/index.ts";

export interface Steps {
  readonly write: WriteEffect;
  /** Of the same aim: tried where the write is refused. */
  readonly attempts: readonly Attempt[];
  /** Of the attempt that the write is: carried out where it is not. */
  readonly next: readonly Effect[];
  /** Carried out where the aim is reached. */
  readonly rest: readonly Effect[];
  readonly outcomes: Outcomes;
}

type Outcomes = ReadonlyMap<string, WriteOutcome>;

/** How a pass has ended; `outcomes`: of writes that have an id. */
export interface Ended {
  readonly over: "done" | "race" | "refused";
  readonly outcomes: Outcomes;
  readonly error?: KubeError;
}

/** What follows an answer, or the plan. */
export type Followed = Steps | Ended;

export function stepsOf([first, ...rest]: readonly Effect[], outcomes: Outcomes = new Map()): Followed {
  if (first === undefined) return { over: "done", outcomes };
  switch (first.type) {
    case "event":
      return stepsOf(rest, outcomes);
    case "attempts":
      return attempted(first.attempts, rest, outcomes);
    case "create":
    case "patch":
    case "delete":
      return { write: first, attempts: [], next: [], rest, outcomes };
    default:
      throw new Error(`a step with the effect ${first.type}`);
  }
}

function attempted(
  [first, ...attempts]: readonly Attempt[],
  rest: readonly Effect[],
  outcomes: Outcomes,
): Followed {
  if (first === undefined) return stepsOf(rest, outcomes);
  const { effect, next = [] } = first;
  if (effect.type === "event") return stepsOf([...next, ...rest], outcomes);
  return { write: effect, attempts, next, rest, outcomes };
}

/** Without a code: the write is carried out. */
export function answeredStep(
  { write, attempts, next, rest, outcomes: before }: Steps,
  code?: KubeErrorCode,
): Followed {
  const error = code && new KubeError(code, code);
  const isDone = error === undefined || failureIn(write, error) === "done";
  const outcome = isDone ? {} : { error };
  const outcomes = write.id === undefined ? before : new Map(before).set(write.id, outcome);
  if (isDone) return stepsOf([...next, ...rest], outcomes);
  const at = attempts.findIndex(({ after = [] }) => after.includes(error.code));
  if (at >= 0) return attempted(attempts.slice(at), rest, outcomes);
  return { over: failureOf(error) === "race" ? "race" : "refused", outcomes, error };
}
