/** ResourceQuota for the number of pods; other resources of a quota are stored and not counted. */
import { quantityValue } from "../../kube/core/index.ts";
import { forbidden } from "../http/api_error.ts";
import { fieldsAt, textAt } from "../json.ts";
import type { Registry } from "../resources/registry.ts";
import type { WriteRequest } from "../writes/request.ts";

const counted = ["pods", "count/pods"] as const;

/** Throws 403 when one more pod is more than a quota of the namespace allows. */
export function checkPodQuota(registry: Registry, request: WriteRequest, name: string): void {
  if (request.served.resource.name !== "pods" || request.subresource !== "") return;
  const quotas = registry.resource("resourcequotas")?.table.list(request.namespace) ?? [];
  for (const quota of quotas) {
    const hard = fieldsAt(quota.object, "spec", "hard");
    for (const resource of counted) {
      const limit = hard[resource];
      if (typeof limit !== "string") continue;
      const used = countPods(request, resource === "pods");
      if (used + 1 <= quantityValue(limit)) continue;
      throw forbidden(
        request.served,
        name,
        `exceeded quota: ${quota.name}, requested: ${resource}=1, used: ${resource}=${used}, limited: ${resource}=${limit}`,
      );
    }
  }
}

/** Finished pods do not count as pods; as objects they do. */
function countPods(request: WriteRequest, running: boolean): number {
  const all = request.served.resource.table.list(request.namespace);
  if (!running) return all.length;
  return all.filter(({ object }) => {
    const phase = textAt(object, "status", "phase");
    return phase !== "Succeeded" && phase !== "Failed";
  }).length;
}
