/** The place that a WorkloadSpread gives a new pod. Spec: pod-webhook 4.2; workloadspread 4.1. */
import type { JsonObject } from "../../../kube/core/index.ts";
import { controllerIn } from "../../native/owners.ts";
import type { PodDraft } from "../../runtime/admission/pod_draft.ts";

export interface SpreadOptions {
  /** A copy of the pod as its subset makes it; undefined where no subset takes it. Rejects to refuse the pod. */
  place(pod: JsonObject, namespace: string): Promise<JsonObject | undefined>;
}

/** A dry run leaves no trace, neither in the pod nor in a ledger. */
export function addSpread(draft: PodDraft, spreads: SpreadOptions): void | Promise<void> {
  const { operation, dryRun } = draft.request;
  if (operation !== "CREATE" || dryRun || !draft.isActive) return;
  if (controllerIn(draft.metadata) === undefined) return;
  return spreads.place(draft.pod, draft.namespace).then((placed) => {
    if (placed !== undefined) draft.replace(placed);
  });
}
