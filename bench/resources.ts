/** The resources that a bench reads and writes, as JSON. */
import { type Codec, jsonCodec, jsonResource, type KubeObject, type Resource } from "../kube/index.ts";
import type { PodObject } from "../sandbox/index.ts";

/** On everything that a bench makes, with the run as its value: `bench clean` finds what an interrupted run left. */
export const BENCH_LABEL = "refit.dev/bench";

const core = { group: "", version: "v1" };

export const podObjects: Resource<PodObject> = {
  ...core,
  plural: "pods",
  kind: "Pod",
  namespaced: true,
  codec: withoutManagedFields(jsonCodec<PodObject>()),
};
export const revisionObjects = jsonResource<KubeObject>({
  group: "apps",
  version: "v1",
  plural: "controllerrevisions",
  kind: "ControllerRevision",
  namespaced: true,
});
export interface NodeObject extends KubeObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}
export const nodeObjects = jsonResource<NodeObject>({
  ...core,
  plural: "nodes",
  kind: "Node",
  namespaced: false,
});
export const namespaces = jsonResource<KubeObject>({
  ...core,
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
});
export const leases = jsonResource<KubeObject & { spec?: { holderIdentity?: string } }>({
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
});

export const sidecarSets = jsonResource<KubeObject & { spec: object }>({
  group: "apps.kruise.io",
  version: "v1beta1",
  plural: "sidecarsets",
  kind: "SidecarSet",
  namespaced: false,
});

/** Half of a pod's JSON, of no use here: a hundred thousand pods are held. */
function withoutManagedFields(codec: Codec<PodObject>): Codec<PodObject> {
  const strip = (pod: PodObject): PodObject => {
    delete pod.metadata.managedFields;
    return pod;
  };
  return {
    ...codec,
    decode: (body, contentType) => strip(codec.decode(body, contentType)),
    decodeList(body, contentType) {
      const page = codec.decodeList(body, contentType);
      page.items.forEach(strip);
      return page;
    },
    watchDecoder(contentType) {
      const decoder = codec.watchDecoder(contentType);
      return {
        push(chunk) {
          const events = decoder.push(chunk);
          for (const event of events)
            if (event.type === "ADDED" || event.type === "MODIFIED" || event.type === "DELETED")
              strip(event.object);
          return events;
        },
      };
    },
  };
}
