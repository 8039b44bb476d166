/** The two containers that a sidecar with HotUpgrade becomes in a pod. Spec: sidecarset 24, 40. */
import { isNativeSidecar } from "./hash.ts";
import type { SidecarContainer } from "./schema.ts";

/** The list of a set that a sidecar is in. */
export type SidecarList = "containers" | "initContainers";

/** An init container that ends before the others start has nothing to hand over: it stays one. */
export function isHotUpgrade(sidecar: SidecarContainer, list: SidecarList): boolean {
  if (sidecar.upgradeStrategy?.upgradeType !== "HotUpgrade") return false;
  return list === "containers" || isNativeSidecar(sidecar);
}

/** Names of the two: the first one serves at the beginning. */
export function hotUpgradePair(name: string): readonly [working: string, idle: string] {
  return [`${name}-1`, `${name}-2`];
}

/** Names of the containers that a pod gets for the sidecar. */
export function podContainerNames(sidecar: SidecarContainer, list: SidecarList): readonly string[] {
  return isHotUpgrade(sidecar, list) ? hotUpgradePair(sidecar.name) : [sidecar.name];
}
