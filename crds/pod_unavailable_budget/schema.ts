/** PodUnavailableBudget. Spec: protection. */

import { integerColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { observedGeneration, timesByName } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import { convertPodUnavailableBudget } from "./convert.ts";

const common = {
  maxUnavailable: s.optional(
    s.intOrString(
      "Most pods that may be unavailable at the same time: a number, or a percentage of the " +
        "total rounded up. Exactly one of this and minAvailable.",
    ),
  ),
  minAvailable: s.optional(
    s.intOrString(
      "Least pods that must stay available: a number, or a percentage of the total rounded up. " +
        "Exactly one of this and maxUnavailable.",
    ),
  ),
  selector: s.optional(
    s.labelSelector(
      "Pods that are protected, by their labels, over any number of workloads. Exactly one of " +
        "this and targetRef; not empty, and it cannot be changed.",
    ),
  ),
  targetRef: s.optionalObject(
    "Workload whose pods are protected. Exactly one of this and selector; all three fields " +
      "are needed, and it cannot be changed.",
    {
      apiVersion: s.optional(
        s.text("Group and version of the workload, such as apps/v1. The version does not matter."),
      ),
      kind: s.optional(s.text("Kind of the workload, such as Deployment.")),
      name: s.optional(s.text("Name of the workload, in the namespace of the budget.")),
    },
  ),
};

const specV1alpha1 = s.specOf(common);

const spec = s.specOf({
  ...common,
  ignoredPodSelector: s.optional(
    s.labelSelector(
      "Pods that are not protected although they are selected, by their labels; not empty. None by default.",
    ),
  ),
  protectOperations: s.optional(
    s.list(
      "Operations that the budget limits; DELETE, EVICT and UPDATE by default. The first two " +
        "need feature gate PodUnavailableBudgetDeleteGate, which is on, the others " +
        "PodUnavailableBudgetUpdateGate, which is off.",
      s.choice(
        "DELETE: a pod is deleted. EVICT: it is evicted, such as when its node is drained. " +
          "UPDATE: its spec is changed. RESIZE: its resources are changed without a restart, which " +
          "counts as UPDATE unless feature gate InPlacePodVerticalScaling is on.",
        ["DELETE", "UPDATE", "EVICT", "RESIZE"],
      ),
    ),
  ),
  protectTotalReplicas: s.optional(
    s.int32("Number that counts as the total, 1 or more; the replicas of the workloads by default.", {
      minimum: 1,
    }),
  ),
});

const status = s.statusOf({
  currentAvailable: s.int32("Number of pods that are available now."),
  desiredAvailable: s.int32("Number of pods that must stay available."),
  disruptedPods: s.optional(
    timesByName("Pods whose deletion or eviction was allowed and is not seen yet, by name."),
  ),
  observedGeneration,
  totalReplicas: s.int32(
    "Number of pods that percentages refer to and maxUnavailable is taken from: the replicas " +
      "of the workloads, or the number that is set in their place.",
  ),
  unavailableAllowed: s.int32("Number of pods that may become unavailable now, 0 or more."),
  unavailablePods: s.optional(timesByName("Pods whose update was allowed and is not seen yet, by name.")),
});

export type PodUnavailableBudgetSpec = s.Static<typeof spec>;
export type PodUnavailableBudgetStatus = s.Static<typeof status>;
export type PodUnavailableBudget = KindObject<PodUnavailableBudgetSpec, PodUnavailableBudgetStatus>;

const columns: readonly PrinterColumn[] = [
  integerColumn("Allowed", ".status.unavailableAllowed", "Pods that may become unavailable now."),
  integerColumn("Current", ".status.currentAvailable", "Pods that are available."),
  integerColumn("Desired", ".status.desiredAvailable", "Pods that must stay available."),
  integerColumn("Total", ".status.totalReplicas", "Pods that count as the total."),
];

export const podUnavailableBudget = defineKind({
  group: "policy.kruise.io",
  kind: "PodUnavailableBudget",
  plural: "podunavailablebudgets",
  shortNames: ["pub"],
  description: "Limits how many pods may be unavailable at the same time, whatever makes them so.",
  conversion: convertPodUnavailableBudget,
  versions: [
    { name: "v1alpha1", storage: false, spec: specV1alpha1, status, columns },
    { name: "v1beta1", storage: true, spec, status, columns },
  ],
});
