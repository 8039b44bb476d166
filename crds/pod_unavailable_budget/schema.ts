/** PodUnavailableBudget. Spec: protection. */

import { integerColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import {
  choice,
  int32,
  intOrString,
  labelSelector,
  list,
  object,
  optional,
  type Static,
  specOf,
  statusOf,
  text,
} from "../dsl.ts";
import { observedGeneration, timesByName } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import { convertPodUnavailableBudget } from "./convert.ts";

const common = {
  maxUnavailable: optional(intOrString("Pods that may be unavailable at the same time.")),
  minAvailable: optional(intOrString("Pods that must stay available.")),
  selector: optional(labelSelector("Pods that are protected; or targetRef.")),
  targetRef: optional(
    object("Workload whose pods are protected; or selector.", {
      apiVersion: optional(text("API version of the workload.")),
      kind: optional(text("Kind of the workload.")),
      name: optional(text("Name of the workload.")),
    }),
  ),
};

const specV1alpha1 = specOf(common);

const spec = specOf({
  ...common,
  ignoredPodSelector: optional(labelSelector("Pods that are not protected although selected.")),
  protectOperations: optional(
    list(
      "Operations that the budget limits; DELETE, EVICT and UPDATE by default.",
      choice("One operation.", ["DELETE", "UPDATE", "EVICT", "RESIZE"]),
    ),
  ),
  protectTotalReplicas: optional(int32("Number that counts as the total.", { minimum: 1 })),
});

const status = statusOf({
  currentAvailable: int32("Pods that are available."),
  desiredAvailable: int32("Pods that must stay available."),
  disruptedPods: optional(timesByName("Pods whose deletion was allowed and has not been seen yet.")),
  observedGeneration,
  totalReplicas: int32("Pods that count as the total."),
  unavailableAllowed: int32("Pods that may become unavailable now."),
  unavailablePods: optional(timesByName("Pods whose change was allowed and has not been seen yet.")),
});

export type PodUnavailableBudgetSpec = Static<typeof spec>;
export type PodUnavailableBudgetStatus = Static<typeof status>;
export type PodUnavailableBudget = KindObject<PodUnavailableBudgetSpec, PodUnavailableBudgetStatus>;
export type PodUnavailableBudgetV1alpha1 = KindObject<
  Static<typeof specV1alpha1>,
  PodUnavailableBudgetStatus
>;

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
