/** One evaluation of a plan: what was seen, resolved once, and what has been decided so far. */
import type { Action, Waiting } from "../rollout/actions.ts";
import type { Eligibility } from "../rollout/in_place/change.ts";
import type { PendingPods } from "../rollout/pending_pods.ts";
import type { Revision } from "../rollout/revisions.ts";
import type { DaemonNode, DaemonView } from "./classify.ts";
import type { Daemon, DaemonSetOptions, Seen, Strategy, UpdateMark } from "./observe.ts";

export interface Pass {
  seen: Seen;
  options: DaemonSetOptions;
  strategy: Strategy;
  namespace: string;
  name: string;
  uid: string;
  now: number;
  random: () => number;
  update: Revision;
  mark: UpdateMark;
  pods: DaemonView;
  /** Of these: nodes to look at, names ascending; a node that does not exist is none of them. */
  open: readonly DaemonNode[];
  /** Eligibility by revision label of the pod. */
  eligible: Map<string, Eligibility>;
  decided: Decided;
}

export class Decided {
  readonly actions: Action[] = [];
  /** Names of pods to be created. */
  readonly names = new Set<string>();
  readonly waiting: Waiting[] = [];
  /** Pods with an action of this pass: a pod gets at most one. */
  readonly touched = new Set<string>();
  /** Nodes whose failed pod is replaced: each next time waits longer. */
  readonly failedOn: string[] = [];
  /** How many more creations, deletions and updates the burst allows. */
  readonly room: { create: number; delete: number; update: number };
  wakeAfterMs: number | undefined;

  constructor(room: { create: number; delete: number; update: number }) {
    this.room = room;
  }

  take(action: Action): void {
    this.actions.push(action);
    if (action.type === "patch pod" || action.type === "delete pod") this.touched.add(action.pod.uid);
  }

  wake(afterMs: number | undefined): void {
    if (afterMs !== undefined)
      this.wakeAfterMs = Math.min(this.wakeAfterMs ?? Number.POSITIVE_INFINITY, afterMs);
  }
}

/** Whether an action may be planned for the pod in this pass. */
export function isFree(pass: Pass, daemon: Daemon): boolean {
  return !daemon.busy && !pass.decided.touched.has(daemon.pod.uid);
}

/** What the burst leaves: writes in flight count, so that a slow server is never met by a second burst. */
export function roomOf(
  { counts }: Pick<PendingPods, "counts">,
  burst: number,
): { create: number; delete: number; update: number } {
  return {
    create: burst - counts.create,
    delete: burst - counts.delete,
    update: burst - counts.update,
  };
}
