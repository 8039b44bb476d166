/** The pods that a SidecarSet's `updateStrategy.selector` takes. Loaded when needed: it brings the controller. */
import { listedCluster, observeSidecarSet, rolloutOf, selectedIndex } from "../../controller/index.ts";
import { defaultSidecarSet, sidecarSet } from "../../crds/index.ts";
import { formatSelector, isJsonObject } from "../../kube/core/index.ts";
import { listAll, namespaceResource, podResource } from "../../kube/index.ts";
import type { ClusterAccess } from "../command.ts";
import { type AnyObject, fieldsAt } from "../fields.ts";

/** The object with a status that counts these pods alone, by the controller's own rules; as it is where all are taken. */
export async function withSelectedCounts(
  { client }: Pick<ClusterAccess, "client">,
  object: AnyObject,
): Promise<AnyObject> {
  const read = isJsonObject(object) ? sidecarSet.readStored(defaultSidecarSet(object)) : undefined;
  if (read === undefined || !("object" in read)) return object;
  const { spec = {} } = read.object;
  if (!spec.updateStrategy?.selector) return object;
  const labelSelector = [spec.selector, spec.updateStrategy.selector].map(formatSelector).join(",");
  const [pods, namespaces] = await Promise.all([
    listAll(client, podResource, { labelSelector }),
    listAll(client, namespaceResource),
  ]);
  const set = { ...read.object, spec };
  const cluster = listedCluster({ pods, namespaces });
  // Its history does not count here, so that its place does not matter.
  const state = { index: selectedIndex([cluster.pods]), systemNamespace: "" };
  const seen = observeSidecarSet(set, cluster, state);
  const counted = seen.pods.refresh({ rollout: rolloutOf(set), namespaces: seen.namespaces });
  const counts = Object.fromEntries(
    (["matchedPods", "updatedPods", "readyPods", "updatedReadyPods"] as const).map((name) => [
      name,
      counted.count(name),
    ]),
  );
  return { ...object, status: { ...fieldsAt(object, "status"), ...counts } };
}
