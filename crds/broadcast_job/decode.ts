/** From JSON of unknown origin to a typed BroadcastJob: the checks that a typed decoder makes. */
import { type FieldError, isJsonObject, type JsonObject, required } from "../../kube/core/index.ts";
import { versionSchema } from "../definition.ts";
import { unsupportedVersion } from "../errors.ts";
import { workloadTypeErrors } from "../workload_types.ts";
import { type BroadcastJob, broadcastJob } from "./schema.ts";

/** `spec` may still be absent; every other mistake of type is excluded. Both versions are alike. */
export type DecodedBroadcastJob = {
  readonly object: Omit<BroadcastJob, "spec"> & Partial<Pick<BroadcastJob, "spec">>;
};

const schemas = new Map(
  broadcastJob.versions.map((version) => [
    `${broadcastJob.group}/${version.name}`,
    versionSchema(broadcastJob, version),
  ]),
);

/**
 * The object as it is, or what is wrong with its types. The template is checked against the core types. Throws
 * SchemaError `UnsupportedVersion` for another apiVersion.
 */
export function decodeBroadcastJob(
  value: unknown,
): DecodedBroadcastJob | { readonly errors: readonly FieldError[] } {
  if (!isJsonObject(value)) return { errors: [required("", "an object is needed")] };
  const errors: FieldError[] = [];
  return isTyped(value, errors) ? { object: value } : { errors };
}

function isTyped(
  value: JsonObject,
  errors: FieldError[],
): value is JsonObject & DecodedBroadcastJob["object"] {
  const { apiVersion } = value;
  const schema = typeof apiVersion === "string" ? schemas.get(apiVersion) : undefined;
  if (schema === undefined) throw unsupportedVersion(apiVersion);
  errors.push(...workloadTypeErrors(schema, value));
  return errors.length === 0;
}
