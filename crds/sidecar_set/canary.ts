/** SidecarSets that stand in for another on the pods that both select. Spec: sidecarset, rule 22. */
import type { ObjectMeta } from "../../kube/core/index.ts";
import { canaryAnnotation, canaryBaseAnnotation } from "./names.ts";

/** Name of the SidecarSet that this one is a canary of; undefined if it is none. */
export function canaryBase({ annotations }: ObjectMeta): string | undefined {
  if (annotations?.[canaryAnnotation] !== "true") return undefined;
  return annotations[canaryBaseAnnotation] || undefined;
}
