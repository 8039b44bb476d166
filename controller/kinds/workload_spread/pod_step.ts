/** The place that a WorkloadSpread gives a new pod. Spec: pod-webhook 4.2; workloadspread 4.1. */
import { controllerIn } from "../../native/owners.ts";
import type { PodDraft } from "../../runtime/admission/pod_draft.ts";
import type { PodPlacement } from "./pod_placement.ts";

/** A dry run leaves no trace, neither in the pod nor in a ledger. */
export function addSpread(draft: PodDraft, placement: Pick<PodPlacement, "place">): void | Promise<void> {
  const { operation, dryRun } = draft.request;
  if (operation !== "CREATE" || dryRun || !draft.isActive) return;
  if (controllerIn(draft.metadata) === undefined) return;
  return placement.place(draft.pod, draft.namespace, draft.request.uid).then((placed) => {
    if (placed !== undefined) draft.replace(placed);
  });
}
