/** What the sidecars of a SidecarSet hash to. Spec: sidecarset, rules 24 to 26. */
import { createHash } from "node:crypto";
import { encodeTyped, goJson, type JsonObject, safeEncode } from "../../kube/core/index.ts";
import { wireStruct } from "../wire_types.ts";
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
function encodeSidecar(container: SidecarContainer): JsonObject {
  return encodeTyped(container, "SidecarContainer", wireStruct);
}
