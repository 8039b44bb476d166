/**
 * How a kind of the API is read and written: in its storage version, one resource object a kind, which its folder makes.
 * Shared informers are found by it.
 */
import {
  type KindDefinition,
  type KindVersion,
  type StoredObject,
  storageVersion,
} from "../../crds/index.ts";
import { jsonResource, type Resource } from "../../kube/index.ts";

/** Of the workloads; budgets are in another. */
export const GROUP = "apps.kruise.io";

export function resourceOf<Version extends KindVersion>(
  definition: KindDefinition<Version>,
): Resource<StoredObject<Version>> {
  const { group, kind, plural, scope } = definition;
  const { name: version } = storageVersion(definition);
  return jsonResource({ group, version, plural, kind, namespaced: scope === "Namespaced" });
}

/** `apiVersion` of its objects. */
export function groupVersionOf({ group, version }: Pick<Resource<unknown>, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}
