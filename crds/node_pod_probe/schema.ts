/** NodePodProbe, v1alpha1 only: the probes of one node. Spec: containers. */

import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { probe } from "../fragments.ts";
import type { KindObject } from "../kind.ts";

const podIdentity = {
  name: s.text("Pod."),
  namespace: s.text("Namespace of the pod."),
  uid: s.text("UID of the pod."),
};

const spec = s.specOf({
  podProbes: s.optionalObjectList("Pods of the node.", "One pod.", {
    ...podIdentity,
    IP: s.text("Address of the pod."),
    probes: s.optionalObjectList("Probes.", "One probe.", {
      containerName: s.text("Container in which the probe runs."),
      name: s.text("Name of the marker and of the probe."),
      probe: probe("What is run."),
    }),
  }),
});

const status = s.statusOf({
  podProbeStatuses: s.optionalObjectList("Pods of the node.", "One pod.", {
    ...podIdentity,
    probeStates: s.optionalObjectList("Results.", "One probe.", {
      lastProbeTime: s.optional(s.dateTime("When the probe ran last.")),
      lastTransitionTime: s.optional(s.dateTime("When the result changed last.")),
      message: s.optional(s.text("Output of the probe.")),
      name: s.text("Name of the marker and of the probe."),
      state: s.text("Succeeded, Failed or Unknown."),
    }),
  }),
});

export type NodePodProbeSpec = s.Static<typeof spec>;
export type NodePodProbeStatus = s.Static<typeof status>;
export type NodePodProbe = KindObject<NodePodProbeSpec, NodePodProbeStatus>;

export const nodePodProbe = defineKind({
  kind: "NodePodProbe",
  plural: "nodepodprobes",
  scope: "Cluster",
  description: "Probes that the agent of one node runs, and their results.",
  conversion: "None",
  versions: [{ name: "v1alpha1", storage: true, spec, status, columns: [] }],
});
