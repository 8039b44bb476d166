/** ConfigMaps, as the controllers and admission read and write them. */
import type { KubeObject } from "../../kube/core/index.ts";
import { jsonResource } from "../../kube/index.ts";
import { policyRule } from "../plan/access.ts";

/** What administrators set for this program. Spec: platform 5. */
export const configurationName = "kruise-configuration";

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
