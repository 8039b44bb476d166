/** PodProbeMarker, v1alpha1 only. Spec: containers. */

import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { probe } from "../fragments.ts";
import type { KindObject } from "../kind.ts";

const marker = s.object("One result.", {
  annotations: s.optional(s.stringMap("Annotations the pod gets.")),
  labels: s.optional(s.stringMap("Labels the pod gets.")),
  state: s.text("Result of the probe: Succeeded or Failed."),
});

const spec = s.specOf({
  probes: s.objectList("Probes.", "One probe.", {
    containerName: s.text("Container in which the probe runs."),
    markerPolicy: s.optional(s.list("What each result marks on the pod.", marker)),
    name: s.text("Name of the probe, unique in the object."),
    podConditionType: s.optional(s.text("Condition of the pod that shows the result.")),
    probe: probe("What is run."),
  }),
  selector: s.labelSelector("Pods that are probed."),
});

const status = s.statusOf({
  matchedPods: s.optional(s.int64("Pods that are probed.")),
  observedGeneration: s.int64("Generation that the status is about."),
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
