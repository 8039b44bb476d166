import type { ObjectMeta } from "../../kube/core/index.ts";
import type { EventTarget, Resource } from "../../kube/index.ts";
import { groupVersionOf } from "./resources.ts";

/** The object of an event, from the metadata of any object. */
export function eventTarget(
  resource: Pick<Resource<unknown>, "group" | "version" | "kind">,
  metadata: Pick<ObjectMeta, "namespace" | "name" | "uid" | "resourceVersion">,
): EventTarget {
  const { namespace, name = "", uid = "", resourceVersion = "" } = metadata;
  const target = { apiVersion: groupVersionOf(resource), kind: resource.kind, name, uid, resourceVersion };
  return namespace ? { ...target, namespace } : target;
}
