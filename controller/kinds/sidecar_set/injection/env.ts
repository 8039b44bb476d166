/** The environment of injected containers. Spec: sidecarset 7, 40. */
import {
  hotUpgradeAltVersionEnv,
  hotUpgradeAltVersionPrefix,
  hotUpgradeVersionEnv,
  hotUpgradeVersionPrefix,
  injectedEnv,
} from "../../../../crds/index.ts";
import type { JsonObject } from "../../../../kube/core/index.ts";
import { objectsAt } from "../../../native/json_fields.ts";

/** What marks a container as a sidecar. */
export const injectedMark: JsonObject = { name: injectedEnv, value: "true" };

/** Whether a container of a pod is a sidecar. */
export function isInjected(container: JsonObject): boolean {
  return objectsAt(container, "env").some(({ name, value }) => name === injectedEnv && value === "true");
}

/** The versions by which the two containers of a hot upgrade know which of them is to serve. */
export function hotUpgradeEnv(container: string): JsonObject[] {
  return [
    fromAnnotation(hotUpgradeVersionEnv, hotUpgradeVersionPrefix + container),
    fromAnnotation(hotUpgradeAltVersionEnv, hotUpgradeAltVersionPrefix + container),
  ];
}

function fromAnnotation(name: string, annotation: string): JsonObject {
  const fieldRef = { apiVersion: "v1", fieldPath: `metadata.annotations['${annotation}']` };
  return { name, valueFrom: { fieldRef } };
}
