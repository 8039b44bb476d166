/** PodProbeMarker, v1alpha1 only. Spec: containers. */

import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import type { KindObject } from "../kind.ts";
import { probe } from "../probe_fragments.ts";

const marker = s.object("What one result marks; labels, annotations or both.", {
  annotations: s.optional(s.stringMap("Annotations that the pod gets with the result.")),
  labels: s.optional(s.stringMap("Labels that the pod gets with the result.")),
  state: s.text("Result of the probe: Succeeded or Failed, each once in the list."),
});

const spec = s.specOf({
  probes: s.objectList("Probes that run in each pod; at least one.", "One probe.", {
    containerName: s.text("Name of the container that is probed."),
    markerPolicy: s.optional(
      s.list(
        "Labels and annotations that the pod gets with each result, and loses with the other. " +
          "Needed unless podConditionType is set.",
        marker,
      ),
    ),
    name: s.text("Name of the probe, which no other of the object has; without a #."),
    podConditionType: s.optional(
      s.text(
        "Type of the condition of the pod that shows the result: True for Succeeded, else False. " +
          "No other probe of the object may have it. Needed unless markerPolicy is set.",
      ),
    ),
    probe: probe("What is run, and how often: exactly one of exec, httpGet and tcpSocket."),
  }),
  selector: s.labelSelector(
    "Pods that are probed, by their labels, in the namespace of the object; not empty, and it " +
      "cannot be changed.",
  ),
});

const status = s.statusOf({
  matchedPods: s.optional(s.int64("Number of pods that are probed.")),
  observedGeneration: s.int64("Value of metadata.generation that the status is about."),
});

export type PodProbeMarkerSpec = s.Static<typeof spec>;
export type PodProbeMarkerStatus = s.Static<typeof status>;
export type PodProbeMarker = KindObject<PodProbeMarkerSpec, PodProbeMarkerStatus>;

export const podProbeMarker = defineKind({
  kind: "PodProbeMarker",
  plural: "podprobemarkers",
  description: "Runs probes in containers and marks the pods with the results.",
  conversion: "None",
  complete: true,
  versions: [{ name: "v1alpha1", storage: true, spec, status, columns: [] }],
});
