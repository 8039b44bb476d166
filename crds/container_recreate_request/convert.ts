/** ContainerRecreateRequest between its versions: v1alpha1 keeps in annotations what v1beta1 has in its status. Spec: containers 1.3. */
import { isJsonObject, type JsonObject, own } from "../../kube/core/index.ts";
import {
  type Conversion,
  conversionOf,
  member,
  metadataMap,
  within,
  withMetadataMap,
  without,
} from "../members.ts";
import { RECREATE_GRACE_CONDITION, RECREATE_GRACE_MESSAGE } from "./names.ts";

/** JSON list; `status.containerStatusSnapshot` of v1beta1. */
export const syncContainerStatusesAnnotation = "crr.apps.kruise.io/sync-container-statuses";
/** RFC 3339; the time of the True condition PreRecreateGrace of v1beta1. */
export const unreadyAcquiredAnnotation = "crr.apps.kruise.io/unready-acquired";

/** Annotations that cannot be read are dropped; none of them is left on a v1beta1 object. */
export const convertContainerRecreateRequest: Conversion = conversionOf("apps.kruise.io", {
  toV1beta1: (object) => {
    const annotations = metadataMap(object, "annotations");
    const snapshot = readSnapshot(own(annotations, syncContainerStatusesAnnotation));
    const acquired = readTime(own(annotations, unreadyAcquiredAnnotation));
    const bare = [syncContainerStatusesAnnotation, unreadyAcquiredAnnotation].some((name) =>
      Object.hasOwn(annotations, name),
    )
      ? withMetadataMap(object, "annotations", {
          [syncContainerStatusesAnnotation]: undefined,
          [unreadyAcquiredAnnotation]: undefined,
        })
      : object;
    if (snapshot === undefined && acquired === undefined) return bare;
    const condition = {
      type: RECREATE_GRACE_CONDITION,
      status: "True",
      reason: RECREATE_GRACE_CONDITION,
      message: RECREATE_GRACE_MESSAGE,
      lastTransitionTime: acquired,
    };
    const status = {
      // A request of which nothing was written yet has no phase, which v1beta1 cannot do without.
      phase: "Pending",
      ...member(bare, "status"),
      ...(snapshot === undefined ? {} : { containerStatusSnapshot: snapshot }),
      ...(acquired === undefined ? {} : { conditions: [condition] }),
    };
    return { ...bare, status };
  },
  toV1alpha1: (object) => {
    const status = member(object, "status");
    const snapshot = own(status, "containerStatusSnapshot");
    const conditions = own(status, "conditions");
    const grace = (Array.isArray(conditions) ? conditions : []).find(
      (condition: unknown) =>
        isJsonObject(condition) &&
        condition["type"] === RECREATE_GRACE_CONDITION &&
        condition["status"] === "True",
    );
    const acquired = isJsonObject(grace) ? readTime(grace["lastTransitionTime"]) : undefined;
    const annotations: JsonObject = {
      ...(Array.isArray(snapshot) && snapshot.length > 0
        ? { [syncContainerStatusesAnnotation]: JSON.stringify(snapshot) }
        : {}),
      ...(acquired === undefined ? {} : { [unreadyAcquiredAnnotation]: acquired }),
    };
    const bare = within(object, "status", (status) =>
      without(status, ["containerStatusSnapshot", "conditions"]),
    );
    return Object.keys(annotations).length === 0 ? bare : withMetadataMap(bare, "annotations", annotations);
  },
});

function readSnapshot(text: unknown): unknown[] | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) && parsed.length > 0 && parsed.every(isJsonObject) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** In UTC, to the second. */
function readTime(text: unknown): string | undefined {
  if (typeof text !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text))
    return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
}
