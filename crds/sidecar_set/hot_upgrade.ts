/** The two containers that a sidecar with HotUpgrade becomes in a pod. Spec: sidecarset 40. */
import type { SidecarContainer } from "./schema.ts";

export function isHotUpgrade({ upgradeStrategy }: SidecarContainer): boolean {
  return upgradeStrategy?.upgradeType === "HotUpgrade";
}

/** Names of the two: the first one serves at the beginning. */
export function hotUpgradePair(name: string): readonly [working: string, idle: string] {
  return [`${name}-1`, `${name}-2`];
}

/** Names of the containers that a pod gets for the sidecar. */
export function podContainerNames(sidecar: SidecarContainer): readonly string[] {
  return isHotUpgrade(sidecar) ? hotUpgradePair(sidecar.name) : [sidecar.name];
}
