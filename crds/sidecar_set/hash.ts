/** What the sidecars of a SidecarSet hash to. Spec: sidecarset, rules 24 to 26. */
import { createHash } from "node:crypto";
import { encodeTyped, goJson, type JsonObject, safeEncode } from "../../kube/core/index.ts";
import type { SidecarContainer, SidecarSetSpec } from "./schema.ts";

export interface SidecarSetHashes {
  hash: string;
  /** Equal for specs that differ in images alone. */
  hashWithoutImage: string;
}

/** Both hashes of a defaulted spec, of either version. Exactly the reference's, so that pods that it injected stay at theirs. */
export function sidecarSetHashes(
  spec: Pick<SidecarSetSpec, "containers" | "initContainers">,
): SidecarSetHashes {
  const containers = spec.containers?.map(encodeSidecar);
  const initContainers = spec.initContainers?.some(isNativeSidecar)
    ? spec.initContainers.map(encodeSidecar)
    : undefined;
  return {
    hash: hashOf(containers, initContainers),
    hashWithoutImage: hashOf(containers?.map(withoutImage), initContainers?.map(withoutImage)),
  };
}

/** An init container that runs as long as the pod. */
export function isNativeSidecar({ restartPolicy }: SidecarContainer): boolean {
  return restartPolicy === "Always";
}

function hashOf(containers: JsonObject[] | undefined, initContainers: JsonObject[] | undefined): string {
  const text = goJson({ containers: containers ?? null, initContainers });
  return safeEncode(createHash("sha256").update(text).digest("hex"));
}

const withoutImage = (encoded: JsonObject): JsonObject => ({ ...encoded, image: undefined });

/** The container as the reference's types write it: members in their order, empty ones left out. */
export function encodeSidecar(container: SidecarContainer): JsonObject {
  const { podInjectPolicy, upgradeStrategy, shareVolumePolicy, shareVolumeDevicePolicy } = container;
  const { transferEnv, resourcesPolicy } = container;
  return {
    ...encodeTyped(container, "Container"),
    ...filled({
      podInjectPolicy,
      upgradeStrategy: filled({
        upgradeType: upgradeStrategy?.upgradeType,
        hotUpgradeEmptyImage: upgradeStrategy?.hotUpgradeEmptyImage,
      }),
      shareVolumePolicy: filled({ type: shareVolumePolicy?.type }),
      shareVolumeDevicePolicy: shareVolumeDevicePolicy && filled({ type: shareVolumeDevicePolicy.type }),
      transferEnv: transferEnv?.map(encodeTransferEnv),
      resourcesPolicy: resourcesPolicy && encodeResourcesPolicy(resourcesPolicy),
    }),
  };
}

function encodeTransferEnv(entry: NonNullable<SidecarContainer["transferEnv"]>[number]): JsonObject {
  const { sourceContainerName, sourceContainerNameFrom, envName, envNames } = entry;
  const fieldRef = sourceContainerNameFrom?.fieldRef;
  return filled({
    sourceContainerName,
    sourceContainerNameFrom:
      sourceContainerNameFrom &&
      filled({ fieldRef: fieldRef && encodeTyped(fieldRef, "ObjectFieldSelector") }),
    envName,
    envNames,
  });
}

function encodeResourcesPolicy(policy: NonNullable<SidecarContainer["resourcesPolicy"]>): JsonObject {
  const { targetContainersMode, targetContainersNameRegex, resourcesExpr } = policy;
  const { limits, requests } = resourcesExpr ?? {};
  return {
    targetContainersMode: targetContainersMode ?? "",
    ...filled({ targetContainersNameRegex }),
    resourcesExpr: filled({
      limits: limits && filled({ cpu: limits.cpu, memory: limits.memory }),
      requests: requests && filled({ cpu: requests.cpu, memory: requests.memory }),
    }),
  };
}

/** Without members that are absent, empty texts or empty lists; objects stay, be they empty. */
function filled(object: JsonObject): JsonObject {
  const isEmpty = (value: unknown) =>
    value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(object).filter(([, value]) => !isEmpty(value)));
}
