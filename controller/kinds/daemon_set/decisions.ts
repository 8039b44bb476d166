/** What one pass of a DaemonSet decides, as far as the burst allows. Spec: daemonset 4.4. */
import type { DaemonSetStatus } from "../../../crds/index.ts";
import { Decisions, type Explaining } from "../../rollout/decisions.ts";
import type { Plan } from "../../rollout/writes/actions.ts";
import type { PendingPods } from "../../rollout/writes/pending_pods.ts";

export interface DaemonSetPlan extends Plan<DaemonSetStatus> {
  /** Nodes whose failed pod this plan deletes: the next failure there waits longer. */
  readonly failedOn: readonly string[];
}

export class DaemonSetDecisions extends Decisions {
  /** Names of pods to be created. */
  readonly names = new Set<string>();
  readonly failedOn: string[] = [];
  /** How many more creations, deletions and updates the burst allows. */
  readonly room: { create: number; delete: number; update: number };

  /** Writes in flight count, so that a slow server is never met by a second burst. */
  constructor({ counts }: Pick<PendingPods, "counts">, burst: number) {
    super();
    this.room = {
      create: burst - counts.create,
      delete: burst - counts.delete,
      update: burst - counts.update,
    };
  }

  override plan<Status>(
    status: Status,
    explaining: Explaining,
  ): Plan<Status> & Pick<DaemonSetPlan, "failedOn"> {
    return Object.assign(super.plan(status, explaining), { failedOn: this.failedOn });
  }
}
