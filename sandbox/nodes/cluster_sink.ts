/** Simulated nodes before the in-process cluster: reports become writes at once. */
import type { Cluster, StoredObject } from "../cluster.ts";
import type { EventWriter } from "../events.ts";
import { isPod, type PodObject } from "../objects/index.ts";
import type { NodeSink } from "./hollow_nodes.ts";
import type { NodeSources } from "./pod_inputs.ts";

export function clusterSink(cluster: Cluster, events: EventWriter): NodeSink {
  const update = (pod: PodObject, change: (draft: PodObject) => void): undefined => {
    const { namespace = "", name = "", uid } = pod.metadata;
    cluster.update("pods", { namespace, name }, (draft) => {
      if (isPod(draft) && draft.metadata.uid === uid) change(draft);
    });
  };
  return {
    reportStatus: (pod, compute) =>
      update(pod, (draft) => {
        draft.status = compute(draft);
      }),
    removePod(pod) {
      const { namespace = "", name = "", uid } = pod.metadata;
      cluster.remove("pods", { namespace, name }, { gracePeriodSeconds: 0, ...(uid ? { uid } : {}) });
      return undefined;
    },
    annotate: (pod, key, value) =>
      update(pod, (draft) => {
        draft.metadata.annotations = { ...draft.metadata.annotations, [key]: value };
      }),
    event(pod, node, type, reason, message) {
      events.write(pod, type, reason, message, "kubelet", node);
      return undefined;
    },
  };
}

export function clusterSources(cluster: Cluster): NodeSources {
  return {
    get: (resource: string, namespace: string, name: string): StoredObject | undefined =>
      cluster.get(resource, { namespace, name }),
  };
}
