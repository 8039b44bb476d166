/** PodUnavailableBudget. Spec: protection. */

import { integerColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { observedGeneration, timesByName } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import { convertPodUnavailableBudget } from "./convert.ts";

const common = {
  maxUnavailable: s.optional(s.intOrString("Pods that may be unavailable at the same time.")),
  minAvailable: s.optional(s.intOrString("Pods that must stay available.")),
  selector: s.optional(s.labelSelector("Pods that are protected; or targetRef.")),
  targetRef: s.optionalObject("Workload whose pods are protected; or selector.", {
    apiVersion: s.optional(s.text("API version of the workload.")),
    kind: s.optional(s.text("Kind of the workload.")),
    name: s.optional(s.text("Name of the workload.")),
  }),
};

const specV1alpha1 = s.specOf(common);

const spec = s.specOf({
  ...common,
  ignoredPodSelector: s.optional(s.labelSelector("Pods that are not protected although selected.")),
  protectOperations: s.optional(
    s.list(
      "Operations that the budget limits; DELETE, EVICT and UPDATE by default.",
      s.choice("One operation.", ["DELETE", "UPDATE", "EVICT", "RESIZE"]),
    ),
  ),
  protectTotalReplicas: s.optional(s.int32("Number that counts as the total.", { minimum: 1 })),
});

const status = s.statusOf({
  currentAvailable: s.int32("Pods that are available."),
  desiredAvailable: s.int32("Pods that must stay available."),
  disruptedPods: s.optional(timesByName("Pods whose deletion was allowed and has not been seen yet.")),
  observedGeneration,
  totalReplicas: s.int32("Pods that count as the total."),
  unavailableAllowed: s.int32("Pods that may become unavailable now."),
  unavailablePods: s.optional(timesByName("Pods whose change was allowed and has not been seen yet.")),
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
