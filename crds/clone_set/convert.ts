/**
 * CloneSet between v1alpha1 and v1beta1. Works on plain JSON, so that an object stored long ago converts whatever it
 * holds; nothing is validated. What gets lost is the API's, see each function. Spec: cloneset 2, end.
 */
import { isJsonObject, type JsonObject, own } from "../../kube/core/index.ts";
import { type Conversion, conversionOf, member, metadataMap, pick } from "../members.ts";
import { excludePreparingDeleteLabel, podUpdatePolicies, preDownloadAnnotations } from "./names.ts";

const rolloutFields = [
  "maxSurge",
  "maxUnavailable",
  "partition",
  "paused",
  "priorityStrategy",
  "scatterStrategy",
] as const;

/**
 * A new object of `apps.kruise.io/<version>`; the given one is not changed, unchanged parts are shared. Throws
 * SchemaError `UnsupportedVersion` when the object is of another version or another one is asked for.
 */
export const convertCloneSet: Conversion = conversionOf("apps.kruise.io", { toV1beta1, toV1alpha1 });

/** Loses: rollout settings of the type OnDelete; pre-download fields that the shared schema of v1alpha1 shows but that only annotations set. */
function toV1beta1(object: JsonObject): JsonObject {
  const result: JsonObject = { ...object };
  const spec = own(object, "spec");
  if (!isJsonObject(spec)) return result;
  const labels = metadataMap(object, "labels");
  const { disablePVCReuse, ...scaling } = member(spec, "scaleStrategy");
  result["spec"] = {
    ...spec,
    scaleStrategy: {
      ...scaling,
      enablePVCReuse: disablePVCReuse !== true,
      ...(own(labels, excludePreparingDeleteLabel) === "true" ? { excludePreparingDelete: true } : {}),
    },
    updateStrategy: updateStrategyV1beta1(member(spec, "updateStrategy"), metadataMap(object, "annotations")),
  };
  return result;
}

function updateStrategyV1beta1(strategy: JsonObject, annotations: JsonObject): JsonObject {
  const type = strategy["type"];
  if (type === "OnDelete") return { type };
  const inPlace = own(strategy, "inPlaceUpdateStrategy");
  const preDownload = preDownloadFields(annotations);
  const hasInPlace = isJsonObject(inPlace) || Object.keys(preDownload).length > 0;
  const grace = isJsonObject(inPlace) ? pick(inPlace, ["gracePeriodSeconds"]) : {};
  return {
    type: "RollingUpdate",
    rollingUpdate: {
      podUpdatePolicy: podUpdatePolicies.find((policy) => policy === type) ?? "ReCreate",
      ...pick(strategy, rolloutFields),
      ...(hasInPlace ? { inPlaceUpdateStrategy: { ...grace, ...preDownload } } : {}),
    },
  };
}

/** Annotations that cannot be read are ignored. */
function preDownloadFields(annotations: JsonObject): JsonObject {
  const fields: JsonObject = {};
  for (const [field, annotation] of Object.entries(preDownloadAnnotations)) {
    const text = own(annotations, annotation);
    if (typeof text !== "string" || text === "") continue;
    const number = decimalInt32(text);
    if (number !== undefined) fields[field] = number;
    else if (field === "imagePreDownloadParallelism") fields[field] = text;
  }
  return fields;
}

function decimalInt32(text: string): number | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const number = Number(text);
  return number >= -2147483648 && number <= 2147483647 ? number : undefined;
}

/** Loses: excludePreparingDelete, rollout settings of the type OnDelete, an empty inPlaceUpdateStrategy. */
function toV1alpha1(object: JsonObject): JsonObject {
  const result: JsonObject = { ...object };
  const spec = own(object, "spec");
  if (!isJsonObject(spec)) return result;
  const { scaleStrategy: _, updateStrategy: __, ...rest } = spec;
  const { enablePVCReuse, excludePreparingDelete: ___, ...scaling } = member(spec, "scaleStrategy");
  const scaleStrategy = { ...scaling, ...(enablePVCReuse === true ? {} : { disablePVCReuse: true }) };
  const strategy = member(spec, "updateStrategy");
  const rollingUpdate = strategy["type"] === "OnDelete" ? {} : member(strategy, "rollingUpdate");
  const inPlace = member(rollingUpdate, "inPlaceUpdateStrategy");
  const policy = rollingUpdate["podUpdatePolicy"];
  const type =
    strategy["type"] === "OnDelete"
      ? "OnDelete"
      : typeof policy === "string" && policy !== ""
        ? policy
        : "ReCreate";
  const grace = inPlace["gracePeriodSeconds"];
  result["spec"] = {
    ...rest,
    scaleStrategy,
    updateStrategy: {
      type,
      ...pick(rollingUpdate, rolloutFields),
      ...(typeof grace === "number" && grace !== 0
        ? { inPlaceUpdateStrategy: { gracePeriodSeconds: grace } }
        : {}),
    },
  };
  const preDownload = annotationsOf(inPlace);
  if (Object.keys(preDownload).length > 0) {
    const annotations = { ...metadataMap(object, "annotations"), ...preDownload };
    result["metadata"] = { ...member(object, "metadata"), annotations };
  }
  return result;
}

function annotationsOf(inPlace: JsonObject): Record<string, string> {
  const annotations: Record<string, string> = {};
  for (const [field, annotation] of Object.entries(preDownloadAnnotations)) {
    const value = own(inPlace, field);
    if (typeof value === "number" || typeof value === "string") annotations[annotation] = String(value);
  }
  return annotations;
}
