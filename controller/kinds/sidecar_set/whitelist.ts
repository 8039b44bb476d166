/** The configuration of this program about SidecarSets. Spec: platform 5. */
import { own } from "../../../kube/core/index.ts";
import { ignoreNotFound, type ReadingClient } from "../../../kube/index.ts";
import { configMapResource, configurationName } from "../../native/config_maps.ts";

const whitelistKey = "SidecarSet_PatchPodMetadata_WhiteList";

/**
 * The list of annotations that SidecarSets may write onto pods; undefined where there is none. Read for each SidecarSet that
 * writes any: they are rare, and whoever extends the list applies such a SidecarSet next.
 */
export async function readPatchWhitelist(
  client: ReadingClient,
  namespace: string,
): Promise<string | undefined> {
  const place = { namespace, name: configurationName };
  const { data = {} } = (await client.get(configMapResource, place).catch(ignoreNotFound)) ?? {};
  const text = own(data, whitelistKey);
  return typeof text === "string" ? text : undefined;
}
