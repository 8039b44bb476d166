/** ResourceDistribution between its versions: two renamed fields, nothing lost. Spec: resourcedistribution 3. */
import type { JsonObject } from "../../kube/core/index.ts";
import { type Conversion, conversionOf, renamed, renamedList, within, withinEach } from "../members.ts";

export const convertResourceDistribution: Conversion = conversionOf("apps.kruise.io", {
  toV1beta1: (object) =>
    converted(
      object,
      ["namespaceLabelSelector", "namespaceSelector"],
      ["failedNamespace", "failedNamespaces"],
    ),
  toV1alpha1: (object) =>
    converted(
      object,
      ["namespaceSelector", "namespaceLabelSelector"],
      ["failedNamespaces", "failedNamespace"],
    ),
});

type Rename = readonly [from: string, to: string];

function converted(object: JsonObject, selector: Rename, failed: Rename): JsonObject {
  const withSpec = within(object, "spec", (spec) =>
    within(spec, "targets", (targets) => renamed(targets, ...selector)),
  );
  return within(withSpec, "status", (status) =>
    withinEach(status, "conditions", (condition) => renamedList(condition, ...failed)),
  );
}
