/** From JSON of unknown origin to a typed StatefulSet: the checks that a typed decoder makes. */
import { type FieldError, isJsonObject, type JsonObject, required } from "../../kube/core/index.ts";
import { versionSchema } from "../definition.ts";
import { unsupportedVersion } from "../errors.ts";
import { workloadTypeErrors } from "../workload_types.ts";
import { type StatefulSet, type StatefulSetV1alpha1, statefulSet } from "./schema.ts";

/** `spec` may still be absent; every other mistake of type is excluded. */
type Draft<T extends { spec: unknown }> = Omit<T, "spec"> & Partial<Pick<T, "spec">>;

export type DecodedStatefulSet =
  | { readonly version: "v1beta1"; readonly object: Draft<StatefulSet> }
  | { readonly version: "v1alpha1"; readonly object: Draft<StatefulSetV1alpha1> };

const schemas = new Map(
  statefulSet.versions.map((version) => [
    `${statefulSet.group}/${version.name}`,
    versionSchema(statefulSet, version),
  ]),
);

/**
 * The object as it is, or what is wrong with its types. Templates and claim templates are checked against the core
 * types. Throws SchemaError `UnsupportedVersion` for another apiVersion.
 */
export function decodeStatefulSet(
  value: unknown,
): DecodedStatefulSet | { readonly errors: readonly FieldError[] } {
  if (!isJsonObject(value)) return { errors: [required("", "an object is needed")] };
  const errors: FieldError[] = [];
  switch (value["apiVersion"]) {
    case "apps.kruise.io/v1beta1":
      return isTyped<Draft<StatefulSet>>(value, errors) ? { version: "v1beta1", object: value } : { errors };
    case "apps.kruise.io/v1alpha1":
      return isTyped<Draft<StatefulSetV1alpha1>>(value, errors)
        ? { version: "v1alpha1", object: value }
        : { errors };
    default:
      throw unsupportedVersion(value["apiVersion"]);
  }
}

/** Whether the value has the types of its apiVersion; what is wrong is added to `errors`. */
function isTyped<T>(value: JsonObject, errors: FieldError[]): value is JsonObject & T {
  const { apiVersion } = value;
  const schema = typeof apiVersion === "string" ? schemas.get(apiVersion) : undefined;
  if (schema !== undefined) errors.push(...workloadTypeErrors(schema, value));
  return errors.length === 0;
}
