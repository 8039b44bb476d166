/** Deletions and evictions are recorded before anybody else is asked about them. Spec: workloadspread 4.2; pod-webhook 5. */
import { isKubeError, messageOf, type ReadingClient } from "../../../kube/index.ts";
import { isDryRun, operationOf, podOf } from "../../pod_webhook/pod_operation.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";
import {
  type AdmissionHandler,
  type AdmissionRequest,
  allowed,
  denied,
} from "../../runtime/admission/request.ts";
import type { PodPlacement } from "./pod_placement.ts";

/** Refuses what could not be recorded. */
export function guardSpreadPods(
  placement: Pick<PodPlacement, "isUsed" | "leave">,
  client: ReadingClient,
): AdmissionHandler {
  return async (request) => {
    const operation = operationOf(request);
    if ((operation === "DELETE" || operation === "EVICT") && !isDryRun(request)) {
      try {
        await recordLeaving(request, operation, placement, client);
      } catch (error) {
        return denied(400, messageOf(error));
      }
    }
    return allowed;
  };
}

async function recordLeaving(
  request: AdmissionRequest,
  operation: "DELETE" | "EVICT",
  placement: Pick<PodPlacement, "isUsed" | "leave">,
  client: ReadingClient,
): Promise<void> {
  if (!(await placement.isUsed(request.namespace))) return;
  try {
    const pod = await podOf(request, operation, client);
    if (isActive(pod)) await placement.leave(pod);
  } catch (error) {
    // There is nothing to evict, which the API server says itself.
    if (!isKubeError(error, "NotFound")) throw error;
  }
}
