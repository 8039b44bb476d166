/** PersistentPodState. Spec: persistentpodstate. */

import { defineKind } from "../define_kind.ts";
import {
  choice,
  int32,
  int64,
  map,
  object,
  objectList,
  optional,
  type Static,
  specOf,
  statusOf,
  stringMap,
  strings,
  text,
} from "../dsl.ts";
import { targetReference } from "../fragments.ts";
import type { KindObject } from "../kind.ts";
import { convertPersistentPodState } from "./convert.ts";

const annotations = optional(
  objectList("Annotations of pods that are recorded.", "One annotation.", { key: text("Annotation key.") }),
);
const retentionWords = "When a recorded state is dropped: WhenScaled (default) or WhenDeleted.";
const keyWords = "Labels of the node whose values are kept.";
const requiredWords = "Node labels that a recreated pod must find again.";
const preferredWords = "Node labels that a recreated pod should find again.";
const preferenceWords = "Node labels.";
const targetRef = targetReference("Workload whose pods are recorded.");

const specV1alpha1 = specOf({
  persistentPodAnnotations: annotations,
  persistentPodStateRetentionPolicy: optional(text(retentionWords)),
  preferredPersistentTopology: optional(
    objectList(preferredWords, "One preference.", {
      preference: object(preferenceWords, { nodeTopologyKeys: strings(keyWords) }),
      weight: int32("1 to 100."),
    }),
  ),
  requiredPersistentTopology: optional(object(requiredWords, { nodeTopologyKeys: strings(keyWords) })),
  targetRef,
});

const spec = specOf({
  persistentPodAnnotations: annotations,
  persistentPodStateRetentionPolicy: optional(choice(retentionWords, ["WhenScaled", "WhenDeleted"])),
  preferredPersistentTopology: optional(
    objectList(preferredWords, "One preference.", {
      preference: object(preferenceWords, { keys: strings(keyWords) }),
      weight: int32("1 to 100.", { minimum: 0 }),
    }),
  ),
  requiredPersistentTopology: optional(object(requiredWords, { keys: strings(keyWords) })),
  targetRef,
});

const status = statusOf({
  observedGeneration: int64("Generation that the status is about."),
  podStates: optional(
    map(
      "Recorded states by pod name.",
      object("One pod.", {
        annotations: optional(stringMap("Annotations of the pod.")),
        nodeName: optional(text("Node of the pod.")),
        nodeTopologyLabels: optional(stringMap("Labels of that node.")),
      }),
    ),
  ),
});

export type PersistentPodStateSpec = Static<typeof spec>;
export type PersistentPodStateStatus = Static<typeof status>;
export type PersistentPodState = KindObject<PersistentPodStateSpec, PersistentPodStateStatus>;
export type PersistentPodStateV1alpha1 = KindObject<Static<typeof specV1alpha1>, PersistentPodStateStatus>;

export const persistentPodState = defineKind({
  kind: "PersistentPodState",
  plural: "persistentpodstates",
  description: "Brings recreated pods back to nodes like those on which they ran.",
  conversion: convertPersistentPodState,
  versions: [
    { name: "v1alpha1", storage: false, spec: specV1alpha1, status, columns: [] },
    { name: "v1beta1", storage: true, spec, status, columns: [] },
  ],
});
