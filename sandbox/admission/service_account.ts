/** The admission plugin ServiceAccount: the account of a new pod exists. */
import type { StoredObject } from "../cluster.ts";
import { forbidden } from "../http/api_error.ts";
import { textAt } from "../json.ts";
import type { Registry } from "../resources/registry.ts";
import type { WriteRequest } from "../writes/request.ts";

/** Throws 403. `default` is not looked up: every namespace is given one at once. */
export function checkServiceAccount(registry: Registry, request: WriteRequest, pod: StoredObject): void {
  if (request.served.resource.name !== "pods" || request.subresource !== "") return;
  const account = textAt(pod, "spec", "serviceAccountName") ?? "";
  const { namespace } = request;
  if (account === "" || account === "default") return;
  if (registry.resource("serviceaccounts")?.table.get(namespace, account) !== undefined) return;
  const why = `error looking up service account ${namespace}/${account}: serviceaccount "${account}" not found`;
  throw forbidden(request.served, pod.metadata.name ?? "", why);
}
