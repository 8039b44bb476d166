/** Pods with all their fields, which no cache holds. */
import type { JsonObject } from "../../kube/core/index.ts";
import { jsonResource, type KubeObject } from "../../kube/index.ts";

export const wholePodResource = jsonResource<KubeObject & JsonObject>({
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
});
