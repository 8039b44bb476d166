/** WorkloadSpread between its versions. Spec: workloadspread 3. */
import { isJsonObject, type JsonObject, own } from "../../kube/core/index.ts";
import { type Conversion, conversionOf, renamed, within, withinEach, without } from "../members.ts";

/** Lost towards v1alpha1: `observedGeneration` of conditions. An empty reason becomes `Unknown` towards v1beta1. */
export const convertWorkloadSpread: Conversion = conversionOf("apps.kruise.io", {
  toV1beta1: (object) => {
    const subset = (value: JsonObject) =>
      renamed(
        renamed(value, "requiredNodeSelectorTerm", "requiredNodeSelector"),
        "preferredNodeSelectorTerms",
        "preferredNodeSelector",
      );
    const condition = (value: JsonObject) => ({
      message: "",
      ...value,
      reason: value["reason"] || "Unknown",
    });
    return converted(object, subset, condition);
  },
  toV1alpha1: (object) => {
    const subset = (value: JsonObject) =>
      renamed(
        renamed(value, "requiredNodeSelector", "requiredNodeSelectorTerm"),
        "preferredNodeSelector",
        "preferredNodeSelectorTerms",
      );
    return converted(object, subset, (value) => without(value, ["observedGeneration"]));
  },
});

type Change = (value: JsonObject) => JsonObject;

function converted(object: JsonObject, subset: Change, condition: Change): JsonObject {
  const subsetStatus = (value: JsonObject) => withinEach(value, "conditions", condition);
  const withSpec = within(object, "spec", (spec) => withinEach(spec, "subsets", subset));
  return within(withSpec, "status", (status) => {
    const versions = own(status, "versionedSubsetStatuses");
    const result = withinEach(status, "subsetStatuses", subsetStatus);
    if (!isJsonObject(versions)) return result;
    const versioned = Object.keys(versions).reduce(
      (all, key) => withinEach(all, key, subsetStatus),
      versions,
    );
    return { ...result, versionedSubsetStatuses: versioned };
  });
}
