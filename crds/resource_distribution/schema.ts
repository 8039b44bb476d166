/** ResourceDistribution. Spec: resourcedistribution 1 to 3. */

import { integerColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { observedGeneration } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import { convertResourceDistribution } from "./convert.ts";

function namespaceList(description: string) {
  return s.object(description, {
    list: s.optionalObjectList("Namespaces by name, each once.", "One namespace.", {
      name: s.optional(s.text("Name of the namespace.")),
    }),
  });
}

const resource = s.embeddedResource(
  "Secret or ConfigMap that is distributed, whole, with its data. Its namespace is not " +
    "looked at; its kind and its name cannot be changed.",
);

const targetCommon = {
  allNamespaces: s.optional(
    s.flag(
      "Choose all namespaces, present and future ones; false by default. With it, names and " +
        "labels are not looked at.",
    ),
  ),
  excludedNamespaces: s.optional(namespaceList("Namespaces that are left out, whatever else chooses them.")),
  includedNamespaces: s.optional(
    namespaceList(
      "Namespaces that are chosen by name; one that does not exist counts as failed until it does.",
    ),
  ),
};
const byLabels = s.optional(
  s.labelSelector("Namespaces that are chosen by their labels; an empty selector chooses none."),
);

const specV1alpha1 = s.specOf({
  resource,
  targets: s.object(
    "Namespaces that get the resource: those that any of the fields chooses, without " +
      "kube-system and kube-public.",
    {
      ...targetCommon,
      namespaceLabelSelector: byLabels,
    },
  ),
});

const spec = s.specOf({
  resource,
  targets: s.object(
    "Namespaces that get the resource: those that any of the fields chooses, without " +
      "kube-system and kube-public.",
    { ...targetCommon, namespaceSelector: byLabels },
  ),
});

function status(listName: "failedNamespace" | "failedNamespaces") {
  const condition = {
    lastTransitionTime: s.optional(s.dateTime("When the status of the condition changed last.")),
    reason: s.optional(s.text("Cause of the latest failure, or Succeeded.")),
    status: s.text("True while there are such failures, else False."),
    type: s.text("What failed, such as GetResourceFailed, ConflictOccurred or NamespaceNotExists."),
  };
  const failed = s.optional(s.strings("Names of the namespaces in which it failed."));
  return s.statusOf({
    conditions: s.optional(
      s.list(
        "Failures, one entry for each thing that can fail.",
        listName === "failedNamespaces"
          ? s.object("One condition.", { ...condition, failedNamespaces: failed })
          : s.object("One condition.", { ...condition, failedNamespace: failed }),
      ),
    ),
    desired: s.optional(s.int32("Number of namespaces that should have the resource.")),
    failed: s.optional(s.int32("Number of namespaces that should have it and do not.")),
    observedGeneration,
    succeeded: s.optional(s.int32("Number of namespaces that should have it and do.")),
  });
}

const statusV1alpha1 = status("failedNamespace");
const statusV1beta1 = status("failedNamespaces");

export type ResourceDistributionSpec = s.Static<typeof spec>;
export type ResourceDistributionStatus = s.Static<typeof statusV1beta1>;
export type ResourceDistribution = KindObject<ResourceDistributionSpec, ResourceDistributionStatus>;

const columns: readonly PrinterColumn[] = [
  integerColumn("TOTAL", ".status.desired", "Namespaces that should have the resource."),
  integerColumn("SUCCEED", ".status.succeeded", "Namespaces that have it."),
  integerColumn("FAILED", ".status.failed", "Namespaces that do not have it."),
];

export const resourceDistribution = defineKind({
  kind: "ResourceDistribution",
  plural: "resourcedistributions",
  shortNames: ["distributor"],
  scope: "Cluster",
  description: "Keeps copies of a Secret or ConfigMap in many namespaces.",
  conversion: convertResourceDistribution,
  versions: [
    { name: "v1alpha1", storage: false, spec: specV1alpha1, status: statusV1alpha1, columns },
    { name: "v1beta1", storage: true, spec, status: statusV1beta1, columns },
  ],
});
