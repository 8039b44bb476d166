/** One evaluation of a plan: what was seen, resolved once, and what has been decided so far. */
import type { DaemonSet } from "../../../crds/index.ts";
import type { Eligibility } from "../../rollout/in_place/change.ts";
import type { SeenRollout } from "../../rollout/pass.ts";
import type { Revision } from "../../rollout/revisions/revisions.ts";
import { Decided } from "../../rollout/writes/decided.ts";
import type { PendingPods } from "../../rollout/writes/pending_pods.ts";
import type { DaemonIndex, DaemonNode, DaemonView } from "./classify.ts";
import type { DaemonSetOptions, Strategy, UpdateMark } from "./observe.ts";
import type { RevisionSearch } from "./revisions.ts";

export interface Seen extends SeenRollout<DaemonSet> {
  /** Nodes and pods. */
  pods: DaemonIndex;
  /** Whether a pod of the namespace has the name, or is being created under it. */
  isTaken(name: string): boolean;
  /** Milliseconds until a failed pod of the node may be replaced; 0 when it may be now. */
  failedPodWaitMs(node: string): number;
}

/** What a plan is made of. */
export interface ViewedPass {
  seen: Omit<Seen, "pods">;
  options: DaemonSetOptions;
  strategy: Strategy;
  namespace: string;
  name: string;
  uid: string;
  now: number;
  random: () => number;
  update: Revision;
  /** Where the update revision comes from, and what is to be done so that it exists. */
  search: RevisionSearch;
  mark: UpdateMark;
  pods: DaemonView;
  /** Of these: nodes to look at, names ascending; a node that does not exist is none of them. */
  open: readonly DaemonNode[];
  /** Eligibility by revision label of the pod. */
  eligible: Map<string, Eligibility>;
  /** Writes that are under way. */
  inFlight: Pick<PendingPods, "counts">;
}

export interface Pass extends ViewedPass {
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
