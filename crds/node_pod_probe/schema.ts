/** NodePodProbe, v1alpha1 only: the probes of one node. Spec: containers. */

import { defineKind } from "../define_kind.ts";
import { dateTime, objectList, optional, type Static, specOf, statusOf, text } from "../dsl.ts";
import { probe } from "../fragments.ts";
import type { KindObject } from "../kind.ts";

const podIdentity = {
  name: text("Pod."),
  namespace: text("Namespace of the pod."),
  uid: text("UID of the pod."),
};

const spec = specOf({
  podProbes: optional(
    objectList("Pods of the node.", "One pod.", {
      ...podIdentity,
      IP: text("Address of the pod."),
      probes: optional(
        objectList("Probes.", "One probe.", {
          containerName: text("Container in which the probe runs."),
          name: text("Name of the marker and of the probe."),
          probe: probe("What is run."),
        }),
      ),
    }),
  ),
});

const status = statusOf({
  podProbeStatuses: optional(
    objectList("Pods of the node.", "One pod.", {
      ...podIdentity,
      probeStates: optional(
        objectList("Results.", "One probe.", {
          lastProbeTime: optional(dateTime("When the probe ran last.")),
          lastTransitionTime: optional(dateTime("When the result changed last.")),
          message: optional(text("Output of the probe.")),
          name: text("Name of the marker and of the probe."),
          state: text("Succeeded, Failed or Unknown."),
        }),
      ),
    }),
  ),
});

export type NodePodProbeSpec = Static<typeof spec>;
export type NodePodProbeStatus = Static<typeof status>;
export type NodePodProbe = KindObject<NodePodProbeSpec, NodePodProbeStatus>;

export const nodePodProbe = defineKind({
  kind: "NodePodProbe",
  plural: "nodepodprobes",
  scope: "Cluster",
  description: "Probes that the agent of one node runs, and their results.",
  conversion: "None",
  versions: [{ name: "v1alpha1", storage: true, spec, status, columns: [] }],
});
