/** PodProbeMarker, v1alpha1 only. Spec: containers. */

import { defineKind } from "../define_kind.ts";
import {
  int64,
  labelSelector,
  list,
  object,
  objectList,
  optional,
  type Static,
  specOf,
  statusOf,
  stringMap,
  text,
} from "../dsl.ts";
import { probe } from "../fragments.ts";
import type { KindObject } from "../kind.ts";

const marker = object("One result.", {
  annotations: optional(stringMap("Annotations the pod gets.")),
  labels: optional(stringMap("Labels the pod gets.")),
  state: text("Result of the probe: Succeeded or Failed."),
});

const spec = specOf({
  probes: objectList("Probes.", "One probe.", {
    containerName: text("Container in which the probe runs."),
    markerPolicy: optional(list("What each result marks on the pod.", marker)),
    name: text("Name of the probe, unique in the object."),
    podConditionType: optional(text("Condition of the pod that shows the result.")),
    probe: probe("What is run."),
  }),
  selector: labelSelector("Pods that are probed."),
});

const status = statusOf({
  matchedPods: optional(int64("Pods that are probed.")),
  observedGeneration: int64("Generation that the status is about."),
});

export type PodProbeMarkerSpec = Static<typeof spec>;
export type PodProbeMarkerStatus = Static<typeof status>;
export type PodProbeMarker = KindObject<PodProbeMarkerSpec, PodProbeMarkerStatus>;

export const podProbeMarker = defineKind({
  kind: "PodProbeMarker",
  plural: "podprobemarkers",
  description: "Runs probes in containers and marks the pods with the results.",
  conversion: "None",
  complete: true,
  versions: [{ name: "v1alpha1", storage: true, spec, status, columns: [] }],
});
