/** From JSON of unknown origin to a typed DaemonSet: the checks that a typed decoder makes. */
import { type FieldError, isJsonObject, type JsonObject, required } from "../../kube/core/index.ts";
import { versionSchema } from "../definition.ts";
import { unsupportedVersion } from "../errors.ts";
import { workloadTypeErrors } from "../workload_types.ts";
import { type DaemonSet, type DaemonSetV1alpha1, daemonSet } from "./schema.ts";

/** `spec` may still be absent; every other mistake of type is excluded. */
type Draft<T extends { spec: unknown }> = Omit<T, "spec"> & Partial<Pick<T, "spec">>;

export type DecodedDaemonSet =
  | { readonly version: "v1beta1"; readonly object: Draft<DaemonSet> }
  | { readonly version: "v1alpha1"; readonly object: Draft<DaemonSetV1alpha1> };

const schemas = new Map(
  daemonSet.versions.map((version) => [
    `${daemonSet.group}/${version.name}`,
    versionSchema(daemonSet, version),
  ]),
);

/**
 * The object as it is, or what is wrong with its types. The template is checked against the core types. Throws
 * SchemaError `UnsupportedVersion` for another apiVersion.
 */
export function decodeDaemonSet(
  value: unknown,
): DecodedDaemonSet | { readonly errors: readonly FieldError[] } {
  if (!isJsonObject(value)) return { errors: [required("", "an object is needed")] };
  const errors: FieldError[] = [];
  switch (value["apiVersion"]) {
    case "apps.kruise.io/v1beta1":
      return isTyped<Draft<DaemonSet>>(value, errors) ? { version: "v1beta1", object: value } : { errors };
    case "apps.kruise.io/v1alpha1":
      return isTyped<Draft<DaemonSetV1alpha1>>(value, errors)
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
