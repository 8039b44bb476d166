/** Conversion of any kind of this API between its versions: what `/convert` answers. */
import type { JsonObject } from "../kube/core/index.ts";
import { convertCloneSet } from "./clone_set/convert.ts";
import { SchemaError } from "./errors.ts";

/** By group and kind: a new object of the version; the given one is not changed. Throws SchemaError. */
const conversions: Readonly<Record<string, (object: JsonObject, version: string) => JsonObject>> = {
  "apps.kruise.io/CloneSet": convertCloneSet,
};

/**
 * The object in `apiVersion` (`group/version`); the same object if it is of that version already. Throws SchemaError
 * `NoConversion` for kinds without a conversion and for another group, `UnsupportedVersion` for unknown versions.
 */
export function convertObject(object: JsonObject, apiVersion: string): JsonObject {
  const [group = "", version = ""] = apiVersion.split("/", 2);
  const from = typeof object["apiVersion"] === "string" ? object["apiVersion"] : "";
  const key = `${group}/${String(object["kind"])}`;
  const convert = Object.hasOwn(conversions, key) ? conversions[key] : undefined;
  if (convert === undefined || from.split("/", 1)[0] !== group) {
    throw new SchemaError(
      "NoConversion",
      `no conversion of ${String(object["kind"])} from ${from} to ${apiVersion}`,
    );
  }
  return convert(object, version);
}

/** Whether `/convert` can answer for a kind. */
export function hasConversion(group: string, kind: string): boolean {
  return Object.hasOwn(conversions, `${group}/${kind}`);
}
