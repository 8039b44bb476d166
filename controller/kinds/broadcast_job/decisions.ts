/** What one pass of a BroadcastJob decides. */
import type { BroadcastJobStatus } from "../../../crds/index.ts";
import type { ObjectEvent } from "../../plan/effects.ts";
import { Decisions, type Explaining } from "../../rollout/decisions.ts";
import type { Plan } from "../../rollout/writes/actions.ts";

export interface BroadcastJobPlan extends Plan<BroadcastJobStatus> {
  /** Warnings about a state that lasts: to be reported once, when it begins. */
  readonly warnings: readonly ObjectEvent[];
}

export class BroadcastJobDecisions extends Decisions {
  readonly warnings: ObjectEvent[] = [];

  override plan<Status>(
    status: Status,
    explaining: Explaining,
  ): Plan<Status> & Pick<BroadcastJobPlan, "warnings"> {
    return Object.assign(super.plan(status, explaining), { warnings: this.warnings });
  }
}
