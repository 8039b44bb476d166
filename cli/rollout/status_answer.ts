/** What `rollout status` answers, for scripts. */
import { CliError } from "../errors.ts";
import { answeredObject } from "../object_output.ts";
import type { Target } from "../target.ts";
import type { Progress } from "./progress.ts";

export const rolloutExitCodes = { done: 0, failed: 1, stuck: 3, interrupted: 130 } as const;

/** Why following a rollout ended although it is not done. Of one that is stuck it is the first reason of `why`. */
export type EndReason = "TimedOut" | "Deleted" | "Failed" | "OtherRevision";

/** A rollout that is not followed any more: an error for people, a state with a reason for scripts. */
export class RolloutEnd extends CliError {
  readonly reason: string;
  readonly state: "progressing" | "failed" | "stuck";

  constructor(reason: EndReason, message: string);
  constructor(reason: string, message: string, state: "stuck");
  constructor(reason: string, message: string, state?: "stuck") {
    super(message, { exitCode: rolloutExitCodes[state ?? "failed"] });
    this.reason = reason;
    this.state = state ?? (reason === "TimedOut" ? "progressing" : "failed");
  }
}

/** The newest state of a rollout that is followed; empty before the first one. */
export interface SeenRollout {
  readonly progress?: Progress;
  readonly updatedPods?: { readonly ready: readonly string[]; readonly notReady: readonly string[] };
}

/** The documented form: docs/troubleshooting.md, "For scripts". Fields that do not apply are absent. */
export function statusAnswer(
  target: Target,
  { progress, updatedPods }: SeenRollout,
  end: RolloutEnd | "Interrupted" | undefined,
): object {
  const isDone = end === undefined && progress?.state === "done";
  const usual = { state: isDone ? "done" : "progressing", reason: isDone ? "Complete" : "Progressing" };
  const ended = end === "Interrupted" ? { state: "progressing", reason: end } : end;
  const { state, reason } = ended ?? usual;
  const cause = end instanceof RolloutEnd ? { error: end.message } : {};
  return {
    object: answeredObject(target),
    state,
    reason,
    message: progress?.message ?? "",
    ...cause,
    ...(updatedPods === undefined ? {} : { updatedPods }),
  };
}
