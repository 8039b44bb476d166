/** UnitedDeployment between its versions; they differ in the status. Spec: uniteddeployment 3. */
import { isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import { type Conversion, conversionOf, objectsIn, within } from "../members.ts";

export const convertUnitedDeployment: Conversion = conversionOf("apps.kruise.io", {
  toV1beta1: (object) => within(object, "status", statusV1beta1),
  toV1alpha1: (object) => within(object, "status", statusV1alpha1),
});

/** What v1alpha1 keeps in maps by subset goes into the entry of that name, which is appended where it is missing. */
function statusV1beta1(status: JsonObject): JsonObject {
  const { subsetReplicas, updateStatus, ...rest } = status;
  const update = isJsonObject(updateStatus) ? updateStatus : {};
  const subsets = objectsIn(status, "subsetStatuses");
  const take = (values: unknown, field: string) => {
    for (const [name, value] of Object.entries(isJsonObject(values) ? values : {})) {
      const index = subsets.findIndex((subset) => subset["name"] === name);
      const subset = subsets[index];
      if (subset === undefined) subsets.push({ name, [field]: value });
      // Zero is the same as nothing, and v1beta1 writes nothing.
      else if (value !== 0 || subset[field] !== undefined) subsets[index] = { ...subset, [field]: value };
    }
  };
  take(subsetReplicas, "replicas");
  take(update["currentPartitions"], "partition");
  return {
    ...rest,
    ...(update["updatedRevision"] === undefined ? {} : { updatedRevision: update["updatedRevision"] }),
    ...(subsets.length === 0 ? {} : { subsetStatuses: subsets }),
  };
}

/** Both maps are made again from the entries that have a name. */
function statusV1alpha1(status: JsonObject): JsonObject {
  const { updatedRevision, ...rest } = status;
  const subsets = objectsIn(status, "subsetStatuses").filter((subset) => subset["name"]);
  const mapOf = (field: string) =>
    Object.fromEntries(subsets.map((subset) => [String(subset["name"]), subset[field] ?? 0]));
  if (subsets.length === 0 && !updatedRevision) return rest;
  return {
    ...rest,
    ...(subsets.length === 0 ? {} : { subsetReplicas: mapOf("replicas") }),
    updateStatus: {
      ...(updatedRevision ? { updatedRevision } : {}),
      ...(subsets.length === 0 ? {} : { currentPartitions: mapOf("partition") }),
    },
  };
}
