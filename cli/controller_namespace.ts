/** Where the controller is, which keeps there what belongs to objects without a namespace: the history of SidecarSets. */
import { isKubeError } from "../kube/index.ts";
import type { ClusterAccess } from "./command.ts";
import { listAt, textAt } from "./fields.ts";
import { objectResource } from "./resource_types.ts";

const usual = "kruise-system";
const webhooks = "kruise-mutating-webhook-configuration";

/** As webhooks are configured; the usual one where they name an address or may not be read. Other namespaces may be anybody's. */
export async function controllerNamespace({
  client,
  types,
}: Pick<ClusterAccess, "client" | "types">): Promise<string> {
  const type = await types.findKind("admissionregistration.k8s.io", "MutatingWebhookConfiguration");
  if (type === undefined) return usual;
  try {
    const configuration = await client.get(objectResource(type), { name: webhooks });
    const [first] = listAt(configuration, "webhooks");
    return textAt(first, "clientConfig", "service", "namespace") ?? usual;
  } catch (error) {
    if (!isKubeError(error, "NotFound", "Forbidden")) throw error;
    return usual;
  }
}
