/** Who controls an object, by its metadata as it is sent. */
import type { JsonObject } from "../../kube/core/index.ts";
import type { ControllerOf } from "../../kube/index.ts";
import { objectsAt, textAt } from "./json_fields.ts";

/** The controlling owner, with the group in the place of its version. */
export function controllerIn(metadata: JsonObject): ControllerOf | undefined {
  const owner = objectsAt(metadata, "ownerReferences").find(({ controller }) => controller === true);
  if (owner === undefined) return undefined;
  const [group = "", version] = textAt(owner, "apiVersion").split("/");
  return {
    group: version === undefined ? "" : group,
    kind: textAt(owner, "kind"),
    name: textAt(owner, "name"),
    uid: textAt(owner, "uid"),
  };
}
