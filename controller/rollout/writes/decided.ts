/** What one evaluation of a plan has decided so far. */
import type { Pod } from "../../../kube/index.ts";
import type { Action, Waiting } from "./actions.ts";

export class Decided {
  readonly actions: Action[] = [];
  readonly waiting: Waiting[] = [];
  /** Pods with an action of this pass: a pod gets at most one. */
  readonly touched = new Set<string>();
  requeueAfterMs: number | undefined;

  take(action: Action): void {
    this.actions.push(action);
    if (action.type === "patch pod" || action.type === "delete pod") this.touched.add(action.pod.uid);
  }

  requeueAfter(afterMs: number | undefined): void {
    if (afterMs !== undefined)
      this.requeueAfterMs = Math.min(this.requeueAfterMs ?? Number.POSITIVE_INFINITY, afterMs);
  }

  /** Whether an action may be planned for the pod in this pass. */
  isFree({ pod, busy }: { readonly pod: Pod; readonly busy: boolean }): boolean {
    return !busy && !this.touched.has(pod.uid);
  }
}
