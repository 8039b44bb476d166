/** NodePodProbe, v1alpha1 only: the probes of one node. Spec: containers. */

import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import type { KindObject } from "../kind.ts";
import { probe } from "../probe_fragments.ts";

const podIdentity = {
  name: s.text("Name of the pod."),
  namespace: s.text("Namespace of the pod."),
  uid: s.text("UID of the pod."),
};

const spec = s.specOf({
  podProbes: s.optionalObjectList("Pods of the node that are probed.", "One pod.", {
    ...podIdentity,
    IP: s.text("Address of the pod, which httpGet and tcpSocket ask."),
    probes: s.optionalObjectList("Probes that the agent runs in the pod.", "One probe.", {
      containerName: s.text("Name of the container that is probed."),
      name: s.text("Names of the PodProbeMarker and of its probe, with a # between them."),
      probe: probe("What is run, and how often."),
    }),
  }),
});

const status = s.statusOf({
  podProbeStatuses: s.optionalObjectList("Pods of the node that were probed.", "One pod.", {
    ...podIdentity,
    probeStates: s.optionalObjectList("Results of the probes.", "One probe.", {
      lastProbeTime: s.optional(s.dateTime("When the probe ran last.")),
      lastTransitionTime: s.optional(s.dateTime("When the result changed last.")),
      message: s.optional(s.text("What the probe printed, or what went wrong; 1024 bytes at most.")),
      name: s.text("Name of the probe, as in spec."),
      state: s.text("Result: Succeeded, Failed, or Unknown before the first one."),
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
