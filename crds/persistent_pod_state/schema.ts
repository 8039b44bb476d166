/** PersistentPodState. Spec: persistentpodstate. */

import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { targetReference } from "../fragments.ts";
import type { KindObject } from "../kind.ts";
import { convertPersistentPodState } from "./convert.ts";

const annotations = s.optionalObjectList("Annotations of pods that are recorded.", "One annotation.", {
  key: s.text("Annotation key."),
});
const retentionWords = "When a recorded state is dropped: WhenScaled (default) or WhenDeleted.";
const keyWords = "Labels of the node whose values are kept.";
const requiredWords = "Node labels that a recreated pod must find again.";
const preferredWords = "Node labels that a recreated pod should find again.";
const preferenceWords = "Node labels.";
const targetRef = targetReference("Workload whose pods are recorded.");

const specV1alpha1 = s.specOf({
  persistentPodAnnotations: annotations,
  persistentPodStateRetentionPolicy: s.optional(s.text(retentionWords)),
  preferredPersistentTopology: s.optionalObjectList(preferredWords, "One preference.", {
    preference: s.object(preferenceWords, { nodeTopologyKeys: s.strings(keyWords) }),
    weight: s.int32("1 to 100."),
  }),
  requiredPersistentTopology: s.optionalObject(requiredWords, { nodeTopologyKeys: s.strings(keyWords) }),
  targetRef,
});

const spec = s.specOf({
  persistentPodAnnotations: annotations,
  persistentPodStateRetentionPolicy: s.optional(s.choice(retentionWords, ["WhenScaled", "WhenDeleted"])),
  preferredPersistentTopology: s.optionalObjectList(preferredWords, "One preference.", {
    preference: s.object(preferenceWords, { keys: s.strings(keyWords) }),
    weight: s.int32("1 to 100.", { minimum: 0 }),
  }),
  requiredPersistentTopology: s.optionalObject(requiredWords, { keys: s.strings(keyWords) }),
  targetRef,
});

const status = s.statusOf({
  observedGeneration: s.int64("Generation that the status is about."),
  podStates: s.optional(
    s.map(
      "Recorded states by pod name.",
      s.object("One pod.", {
        annotations: s.optional(s.stringMap("Annotations of the pod.")),
        nodeName: s.optional(s.text("Node of the pod.")),
        nodeTopologyLabels: s.optional(s.stringMap("Labels of that node.")),
      }),
    ),
  ),
});

export type PersistentPodStateSpec = s.Static<typeof spec>;
export type PersistentPodStateStatus = s.Static<typeof status>;
export type PersistentPodState = KindObject<PersistentPodStateSpec, PersistentPodStateStatus>;

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
