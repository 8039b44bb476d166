/** ConfigMaps, as the controllers and admission read and write them. */
import { type KubeObject, own } from "../../kube/core/index.ts";
import { ignoreNotFound, jsonResource, type ReadingClient } from "../../kube/index.ts";
import { policyRule } from "../plan/access.ts";

/** What administrators set for this program. Spec: platform 5. */
const configurationName = "kruise-configuration";

/** A role can name it: no other ConfigMap has to be read. */
export const readConfiguration = policyRule("", ["configmaps"], ["get"], [configurationName]);

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

export const configMapResource = jsonResource<ConfigMap>({
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
});

/** What administrators have set under this key; undefined where they have not. Throws KubeError. */
export async function configured(
  client: ReadingClient,
  namespace: string,
  key: string,
): Promise<string | undefined> {
  const place = { namespace, name: configurationName };
  const { data = {} } = (await client.get(configMapResource, place).catch(ignoreNotFound)) ?? {};
  const text = own(data, key);
  return typeof text === "string" ? text : undefined;
}
