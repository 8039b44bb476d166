/** Pods as a whole: what a plan reads of them is in the cache. */
import { jsonResource, type KubeObject } from "../../../kube/index.ts";

export const wholePodResource = jsonResource<KubeObject>({
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
});
