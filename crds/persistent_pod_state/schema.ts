/** PersistentPodState. Spec: persistentpodstate. */

import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { targetReference } from "../fragments.ts";
import type { KindObject } from "../kind.ts";
import { convertPersistentPodState } from "./convert.ts";

const annotations = s.optionalObjectList("Annotations of pods that are recorded.", "One annotation.", {
  key: s.text("Annotation key."),
});
const targetRef = targetReference("Workload whose pods are recorded.");
const keys = s.strings("Labels of the node whose values are kept.");
const retentionWords = "When a recorded state is dropped: WhenScaled (default) or WhenDeleted.";

/** The versions differ in the name of the keys, and in what the API server itself checks. */
function specOf<Keys extends s.TProperties, Policy extends s.TSchema>(
  topology: Keys,
  retentionPolicy: Policy,
  weightRules: s.IntegerRules,
) {
  return s.specOf({
    persistentPodAnnotations: annotations,
    persistentPodStateRetentionPolicy: s.optional(retentionPolicy),
    preferredPersistentTopology: s.optionalObjectList(
      "Node labels that a recreated pod should find again.",
      "One preference.",
      { preference: s.object("Node labels.", topology), weight: s.int32("1 to 100.", weightRules) },
    ),
    requiredPersistentTopology: s.optionalObject(
      "Node labels that a recreated pod must find again.",
      topology,
    ),
    targetRef,
  });
}

const specV1alpha1 = specOf({ nodeTopologyKeys: keys }, s.text(retentionWords), {});
const spec = specOf({ keys }, s.choice(retentionWords, ["WhenScaled", "WhenDeleted"]), { minimum: 0 });

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
