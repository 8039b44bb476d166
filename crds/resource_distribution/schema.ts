/** ResourceDistribution. Spec: resourcedistribution 1 to 3. */

import { integerColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { observedGeneration } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import { convertResourceDistribution } from "./convert.ts";

function namespaceList(description: string) {
  return s.object(description, {
    list: s.optionalObjectList("Namespaces.", "One namespace.", { name: s.optional(s.text("Namespace.")) }),
  });
}

const resource = s.embeddedResource("The Secret or ConfigMap to distribute, complete.");

const targetCommon = {
  allNamespaces: s.optional(s.flag("All namespaces but excluded ones.")),
  excludedNamespaces: s.optional(namespaceList("Namespaces that are left out, whatever else selects them.")),
  includedNamespaces: s.optional(namespaceList("Namespaces by name.")),
};
const byLabels = s.optional(s.labelSelector("Namespaces by labels."));

const specV1alpha1 = s.specOf({
  resource,
  targets: s.object("Namespaces that get the resource.", {
    ...targetCommon,
    namespaceLabelSelector: byLabels,
  }),
});

const spec = s.specOf({
  resource,
  targets: s.object("Namespaces that get the resource.", { ...targetCommon, namespaceSelector: byLabels }),
});

function status(listName: "failedNamespace" | "failedNamespaces") {
  const condition = {
    lastTransitionTime: s.optional(s.dateTime("When the status changed last.")),
    reason: s.optional(s.text("Cause.")),
    status: s.text("True, False or Unknown."),
    type: s.text("Name of the condition."),
  };
  const failed = s.optional(s.strings("Namespaces that the condition is about."));
  return s.statusOf({
    conditions: s.optional(
      s.list(
        "Failures by cause.",
        listName === "failedNamespaces"
          ? s.object("One condition.", { ...condition, failedNamespaces: failed })
          : s.object("One condition.", { ...condition, failedNamespace: failed }),
      ),
    ),
    desired: s.optional(s.int32("Namespaces that should have the resource.")),
    failed: s.optional(s.int32("Namespaces that do not have it.")),
    observedGeneration,
    succeeded: s.optional(s.int32("Namespaces that have it.")),
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
