/** Conversion of any kind of this API between its versions: what `/convert` answers. */
import type { JsonObject } from "../kube/core/index.ts";
import { SchemaError } from "./errors.ts";
import { kinds } from "./kinds.ts";

/**
 * The object in `apiVersion` (`group/version`); the same object if it is of that version already. Throws SchemaError
 * `NoConversion` for kinds without a conversion and for another group, `UnsupportedVersion` for unknown versions.
 */
export function convertObject(object: JsonObject, apiVersion: string): JsonObject {
  const [group = "", version = ""] = apiVersion.split("/", 2);
  const from = typeof object["apiVersion"] === "string" ? object["apiVersion"] : "";
  const definition = kinds.find((kind) => kind.group === group && kind.kind === object["kind"]);
  const conversion = definition?.conversion ?? "None";
  if (conversion === "None" || from.split("/", 1)[0] !== group) {
    throw new SchemaError(
      "NoConversion",
      `no conversion of ${String(object["kind"])} from ${from} to ${apiVersion}`,
    );
  }
  return conversion(object, version);
}
