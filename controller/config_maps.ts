/** ConfigMaps, as the controllers and admission read and write them. */
import type { KubeObject } from "../kube/core/index.ts";
import { jsonResource } from "../kube/index.ts";

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
