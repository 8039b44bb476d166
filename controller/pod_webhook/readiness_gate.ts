/** The gate with which controllers hold a pod's readiness. Spec: pod-webhook 4.1; inplace-update rule 31. */
import { objectsAt } from "../native/json_fields.ts";
import { controllerIn } from "../native/owners.ts";
import { GROUP } from "../plan/resources.ts";
import { type PodDraft, writableList, writableObject } from "../runtime/admission/pod_draft.ts";

const kruisePodReady = "KruisePodReady";

/** Adds the gate to pods of the workloads of this API, or, with `everyPod`, to all. Once only. */
export function addReadinessGate(draft: PodDraft, { everyPod }: { everyPod: boolean }): void {
  if (draft.request.operation !== "CREATE") return;
  if (!everyPod && !ownedByThisApi(draft)) return;
  if (objectsAt(draft.spec, "readinessGates").some((gate) => gate["conditionType"] === kruisePodReady))
    return;
  writableList(writableObject(draft.edit(), "spec"), "readinessGates").push({
    conditionType: kruisePodReady,
  });
}

/** By the group of the controlling owner, whatever its version and kind. */
export function ownedByThisApi(draft: PodDraft): boolean {
  return controllerIn(draft.metadata)?.group === GROUP;
}
