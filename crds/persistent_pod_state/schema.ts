/** PersistentPodState. Spec: persistentpodstate. */

import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { targetReference } from "../fragments.ts";
import type { KindObject } from "../kind.ts";
import { convertPersistentPodState } from "./convert.ts";

const annotations = s.optionalObjectList(
  "Annotations of pods whose values are kept, and given to the pods that take their place.",
  "One annotation.",
  {
    key: s.text("Annotation key."),
  },
);
const targetRef = targetReference(
  "StatefulSet of either group whose pods are recorded. It cannot be changed.",
);
const keys = s.strings(
  "Keys of node labels, such as topology.kubernetes.io/zone. A pod that is made anew looks " +
    "for a node with the values that its last node had.",
);
const retentionWords =
  "When what is recorded of a pod is dropped. WhenScaled (the default): when the pod goes " +
  "because the workload is scaled in. WhenDeleted: when the workload is deleted.";

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
      "Nodes that a pod prefers when it is made anew. At least this or requiredPersistentTopology is needed.",
      "One preference.",
      {
        preference: s.object("Node labels that are looked for together.", topology),
        weight: s.int32(
          "Weight of the preference among others, brought into 1 to 100; 0 for none.",
          weightRules,
        ),
      },
    ),
    requiredPersistentTopology: s.optionalObject(
      "Nodes that a pod needs when it is made anew: it waits while none of them takes it. At " +
        "least this or preferredPersistentTopology is needed.",
      topology,
    ),
    targetRef,
  });
}

const specV1alpha1 = specOf({ nodeTopologyKeys: keys }, s.text(retentionWords), {});
const spec = specOf({ keys }, s.choice(retentionWords, ["WhenScaled", "WhenDeleted"]), { minimum: 0 });

const status = s.statusOf({
  observedGeneration: s.int64("Value of metadata.generation that the status is about."),
  podStates: s.optional(
    s.map(
      "What is recorded of pods, by name: of each from when it was ready last.",
      s.object("One pod.", {
        annotations: s.optional(s.stringMap("Annotations of the pod that persistentPodAnnotations names.")),
        nodeName: s.optional(s.text("Name of the node on which the pod was ready.")),
        nodeTopologyLabels: s.optional(
          s.stringMap("Labels of that node whose keys the spec names, as far as it has them."),
        ),
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
