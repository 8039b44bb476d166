/** One evaluation of a plan: what was seen, resolved once, and what has been decided so far. */
import { Decided } from "../rollout/decided.ts";
import type { Eligibility } from "../rollout/in_place/change.ts";
import type { PendingPods } from "../rollout/pending_pods.ts";
import type { Revision } from "../rollout/revisions.ts";
import type { DaemonNode, DaemonView } from "./classify.ts";
import type { DaemonSetOptions, Seen, Strategy, UpdateMark } from "./observe.ts";

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
  decided: DaemonDecided;
}

export class DaemonDecided extends Decided {
  /** Names of pods to be created. */
  readonly names = new Set<string>();
  /** Nodes whose failed pod is replaced: each next time waits longer. */
  readonly failedOn: string[] = [];
  /** How many more creations, deletions and updates the burst allows. */
  readonly room: { create: number; delete: number; update: number };

  constructor(room: { create: number; delete: number; update: number }) {
    super();
    this.room = room;
  }
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
