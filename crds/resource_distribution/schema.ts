/** ResourceDistribution. Spec: resourcedistribution 1 to 3. */

import { defineKind } from "../define_kind.ts";
import {
  dateTime,
  embeddedResource,
  flag,
  int32,
  int64,
  labelSelector,
  list,
  object,
  optional,
  type Static,
  strings,
  text,
} from "../dsl.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import { convertResourceDistribution } from "./convert.ts";

function namespaceList(description: string) {
  return object(
    { list: optional(list(object({ name: optional(text("Namespace.")) }, "One namespace."), "Namespaces.")) },
    description,
  );
}

const resource = embeddedResource("The Secret or ConfigMap to distribute, complete.");

const targetCommon = {
  allNamespaces: optional(flag("All namespaces but excluded ones.")),
  excludedNamespaces: optional(namespaceList("Namespaces that are left out, whatever else selects them.")),
  includedNamespaces: optional(namespaceList("Namespaces by name.")),
};
const byLabels = optional(labelSelector("Namespaces by labels."));

const specV1alpha1 = object(
  {
    resource,
    targets: object(
      { ...targetCommon, namespaceLabelSelector: byLabels },
      "Namespaces that get the resource.",
    ),
  },
  "What is wanted.",
);

const spec = object(
  {
    resource,
    targets: object({ ...targetCommon, namespaceSelector: byLabels }, "Namespaces that get the resource."),
  },
  "What is wanted.",
);

function status(listName: "failedNamespace" | "failedNamespaces") {
  const condition = {
    lastTransitionTime: optional(dateTime("When the status changed last.")),
    reason: optional(text("Cause.")),
    status: text("True, False or Unknown."),
    type: text("Name of the condition."),
  };
  const failed = optional(strings("Namespaces that the condition is about."));
  return object(
    {
      conditions: optional(
        list(
          listName === "failedNamespaces"
            ? object({ ...condition, failedNamespaces: failed }, "One condition.")
            : object({ ...condition, failedNamespace: failed }, "One condition."),
          "Failures by cause.",
        ),
      ),
      desired: optional(int32("Namespaces that should have the resource.")),
      failed: optional(int32("Namespaces that do not have it.")),
      observedGeneration: optional(int64("Generation that the status is about.")),
      succeeded: optional(int32("Namespaces that have it.")),
    },
    "What is observed.",
  );
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
  {
    name: "TOTAL",
    type: "integer",
    jsonPath: ".status.desired",
    description: "Namespaces that should have the resource.",
  },
  {
    name: "SUCCEED",
    type: "integer",
    jsonPath: ".status.succeeded",
    description: "Namespaces that have it.",
  },
  {
    name: "FAILED",
    type: "integer",
    jsonPath: ".status.failed",
    description: "Namespaces that do not have it.",
  },
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
