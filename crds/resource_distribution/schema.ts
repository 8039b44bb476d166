/** ResourceDistribution. Spec: resourcedistribution 1 to 3. */

import { integerColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import {
  dateTime,
  embeddedResource,
  flag,
  int32,
  labelSelector,
  list,
  object,
  objectList,
  optional,
  type Static,
  specOf,
  statusOf,
  strings,
  text,
} from "../dsl.ts";
import { observedGeneration } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import { convertResourceDistribution } from "./convert.ts";

function namespaceList(description: string) {
  return object(description, {
    list: optional(objectList("Namespaces.", "One namespace.", { name: optional(text("Namespace.")) })),
  });
}

const resource = embeddedResource("The Secret or ConfigMap to distribute, complete.");

const targetCommon = {
  allNamespaces: optional(flag("All namespaces but excluded ones.")),
  excludedNamespaces: optional(namespaceList("Namespaces that are left out, whatever else selects them.")),
  includedNamespaces: optional(namespaceList("Namespaces by name.")),
};
const byLabels = optional(labelSelector("Namespaces by labels."));

const specV1alpha1 = specOf({
  resource,
  targets: object("Namespaces that get the resource.", { ...targetCommon, namespaceLabelSelector: byLabels }),
});

const spec = specOf({
  resource,
  targets: object("Namespaces that get the resource.", { ...targetCommon, namespaceSelector: byLabels }),
});

function status(listName: "failedNamespace" | "failedNamespaces") {
  const condition = {
    lastTransitionTime: optional(dateTime("When the status changed last.")),
    reason: optional(text("Cause.")),
    status: text("True, False or Unknown."),
    type: text("Name of the condition."),
  };
  const failed = optional(strings("Namespaces that the condition is about."));
  return statusOf({
    conditions: optional(
      list(
        "Failures by cause.",
        listName === "failedNamespaces"
          ? object("One condition.", { ...condition, failedNamespaces: failed })
          : object("One condition.", { ...condition, failedNamespace: failed }),
      ),
    ),
    desired: optional(int32("Namespaces that should have the resource.")),
    failed: optional(int32("Namespaces that do not have it.")),
    observedGeneration,
    succeeded: optional(int32("Namespaces that have it.")),
  });
}

const statusV1alpha1 = status("failedNamespace");
const statusV1beta1 = status("failedNamespaces");

export type ResourceDistributionSpec = Static<typeof spec>;
export type ResourceDistributionStatus = Static<typeof statusV1beta1>;
export type ResourceDistribution = KindObject<ResourceDistributionSpec, ResourceDistributionStatus>;
export type ResourceDistributionV1alpha1 = KindObject<
  Static<typeof specV1alpha1>,
  Static<typeof statusV1alpha1>
>;

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
