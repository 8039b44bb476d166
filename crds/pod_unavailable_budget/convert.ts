/** PodUnavailableBudget between its versions: three fields of v1beta1 are annotations in v1alpha1. Spec: protection A2. */
import { goQuote, isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import { SchemaError } from "../errors.ts";
import { type Conversion, conversionOf, member, metadataMap, within, withMetadataMap } from "../members.ts";
import { protectedOperations, protectOperationsAnnotation, protectTotalReplicasAnnotation } from "./names.ts";

/** Keeps the field that v1alpha1 has no name for from being lost when such a client writes the object back. */
const ignoredPodSelectorAnnotation = "refit.dev/pub-ignored-pod-selector";

export const convertPodUnavailableBudget: Conversion = conversionOf("policy.kruise.io", {
  toV1beta1(object) {
    const annotations = metadataMap(object, "annotations");
    const fields: JsonObject = {
      ...protectOperations(annotations[protectOperationsAnnotation]),
      ...protectTotalReplicas(annotations[protectTotalReplicasAnnotation]),
      ...ignoredPodSelector(annotations[ignoredPodSelectorAnnotation]),
    };
    const kept = withMetadataMap(object, "annotations", { [ignoredPodSelectorAnnotation]: undefined });
    const converted = Object.keys(fields).length === 0 ? kept : withSpec(kept, fields);
    return within(converted, "status", ({ observedGeneration, ...status }) => ({
      ...status,
      ...(observedGeneration ? { observedGeneration } : {}),
    }));
  },
  toV1alpha1(object) {
    const {
      protectOperations: listed,
      protectTotalReplicas: total,
      ignoredPodSelector: ignored,
    } = member(object, "spec");
    const annotated = withMetadataMap(object, "annotations", {
      [protectOperationsAnnotation]:
        Array.isArray(listed) && listed.length > 0 ? listed.join(",") : undefined,
      [protectTotalReplicasAnnotation]: typeof total === "number" ? String(total) : undefined,
      [ignoredPodSelectorAnnotation]: isJsonObject(ignored) ? JSON.stringify(ignored) : undefined,
    });
    const converted = within(
      annotated,
      "spec",
      ({ protectOperations: _a, protectTotalReplicas: _b, ignoredPodSelector: _c, ...spec }) => spec,
    );
    return within(converted, "status", (status) => ({ observedGeneration: 0, ...status }));
  },
});

function withSpec(object: JsonObject, fields: JsonObject): JsonObject {
  return { ...object, spec: { ...member(object, "spec"), ...fields } };
}

function protectOperations(text: unknown): JsonObject {
  if (typeof text !== "string") return {};
  const items = text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
  const unknown = items.find((item) => !protectedOperations.includes(item));
  if (unknown !== undefined) {
    const message = `invalid ${protectOperationsAnnotation} value ${goQuote(unknown)}`;
    throw new SchemaError("NoConversion", message);
  }
  return items.length === 0 ? {} : { protectOperations: items };
}

function protectTotalReplicas(text: unknown): JsonObject {
  if (typeof text !== "string") return {};
  const total = Number(text);
  if (!/^[+-]?\d+$/.test(text) || total > 2147483647 || total < -2147483648) {
    const message = `failed to parse ${protectTotalReplicasAnnotation}: ${goQuote(text)} is no 32-bit integer`;
    throw new SchemaError("NoConversion", message);
  }
  return { protectTotalReplicas: total };
}

function ignoredPodSelector(text: unknown): JsonObject {
  if (typeof text !== "string") return {};
  try {
    const selector: unknown = JSON.parse(text);
    return isJsonObject(selector) ? { ignoredPodSelector: selector } : {};
  } catch {
    return {};
  }
}
