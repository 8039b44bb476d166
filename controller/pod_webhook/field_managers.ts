/**
 * Pods of this API's workloads are stored without `metadata.managedFields`: the record of who wrote which field takes the
 * API server longer than all else of a write, and such a pod is written at least four times before it is ready.
 */
import { objectsAt } from "../native/json_fields.ts";
import { type PodDraft, writableObject } from "../runtime/admission/pod_draft.ts";
import { ownedByThisApi } from "./readiness_gate.ts";

/** Not where somebody applied: what that manager may prune next time would be forgotten. */
export function endFieldTracking(draft: PodDraft, { keep }: { keep: boolean }): void {
  if (keep || draft.request.operation !== "CREATE" || !ownedByThisApi(draft)) return;
  const managers = objectsAt(draft.metadata, "managedFields");
  if (managers.length === 0 || managers.some((manager) => manager["operation"] !== "Update")) return;
  delete writableObject(draft.edit(), "metadata")["managedFields"];
}
