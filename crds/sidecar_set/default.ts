/** Defaults that admission writes into a SidecarSet. Spec: sidecarset 2, 6. */
import {
  cloneJson,
  defaultFieldRef,
  defaultSidecarContainer,
  defaultVolume,
  ensureObject,
  isJsonObject,
  type JsonObject,
  type Labels,
  own,
} from "../../kube/core/index.ts";
import { fill } from "../fill.ts";
import { apiVersionOf } from "../kind.ts";
import { member, metadataMap, objectsIn } from "../members.ts";
import { type SidecarSetHashes, sidecarSetHashes } from "./hash.ts";
import { sidecarSetHashAnnotation, sidecarSetHashWithoutImageAnnotation } from "./names.ts";
import { type SidecarSetSpec, sidecarSet } from "./schema.ts";

/**
 * A copy of the object, of either version, with every default and the hashes of what came out; applying it twice changes
 * nothing more. The object must have the right types (see `sidecarSet.read`).
 */
export function defaultSidecarSet(object: JsonObject): JsonObject {
  const result = cloneJson(object);
  const spec = ensureObject(result, "spec");
  for (const container of objectsIn(spec, "initContainers")) defaultSidecar(container, "AfterAppContainer");
  for (const container of objectsIn(spec, "containers")) defaultSidecar(container, "BeforeAppContainer");
  for (const volume of objectsIn(spec, "volumes")) defaultVolume(volume);
  const strategy = ensureObject(spec, "updateStrategy");
  fill(strategy, "type", "RollingUpdate");
  fill(strategy, "partition", 0);
  fill(strategy, "maxUnavailable", 1);
  // Always there, so that a JSON patch can add to it.
  const injection = ensureObject(spec, "injectionStrategy");
  const revision = own(injection, "revision");
  if (isJsonObject(revision)) fill(revision, "policy", "Always");
  fill(spec, "revisionHistoryLimit", 10);
  for (const patch of objectsIn(spec, "patchPodMetadata")) fill(patch, "patchPolicy", "Retain");
  writeHashes(result);
  return result;
}

function defaultSidecar(container: JsonObject, podInjectPolicy: string): void {
  fill(container, "podInjectPolicy", podInjectPolicy);
  fill(ensureObject(container, "upgradeStrategy"), "upgradeType", "ColdUpgrade");
  fill(ensureObject(container, "shareVolumePolicy"), "type", "disabled");
  for (const entry of objectsIn(container, "transferEnv")) {
    const fieldRef = member(entry, "sourceContainerNameFrom")["fieldRef"];
    if (isJsonObject(fieldRef)) defaultFieldRef(fieldRef);
  }
  defaultSidecarContainer(container);
}

/**
 * The hashes that admission wrote beside the sidecars. Those that it would write where there are none: a set that was stored while no
 * webhook looked must not differ from its pods, nor from what its next update makes of it.
 */
export function writtenHashes(
  annotations: Labels = {},
  { containers, initContainers }: Pick<SidecarSetSpec, "containers" | "initContainers">,
): SidecarSetHashes {
  const given = hashesIn(annotations);
  if (given.hash !== undefined && given.hashWithoutImage !== undefined) return { ...none, ...given };
  const spec = { ...(containers && { containers }), ...(initContainers && { initContainers }) };
  return { ...none, ...hashesOf(spec), ...given };
}

/** The first of them, of a set as the server sends it; empty where its sidecars cannot be read. */
export function newestSidecarsHash(object: JsonObject): string {
  return hashesIn(metadataMap(object, "annotations")).hash ?? hashesOf(object["spec"]).hash ?? "";
}

/** That admission would write. */
function hashesOf(spec: unknown): Partial<SidecarSetHashes> {
  const object = { apiVersion: apiVersionOf(sidecarSet), kind: sidecarSet.kind, metadata: {}, spec };
  return hashesIn(metadataMap(defaultSidecarSet(object), "annotations"));
}

/** Of sidecars that cannot be read. */
const none: SidecarSetHashes = { hash: "", hashWithoutImage: "" };

function hashesIn(annotations: JsonObject): Partial<SidecarSetHashes> {
  const hash = own(annotations, sidecarSetHashAnnotation);
  const hashWithoutImage = own(annotations, sidecarSetHashWithoutImageAnnotation);
  return {
    ...(typeof hash === "string" ? { hash } : {}),
    ...(typeof hashWithoutImage === "string" ? { hashWithoutImage } : {}),
  };
}

/** At every creation and update, whatever the client sent: the controller compares them with those of pods. Rule 25. */
function writeHashes(object: JsonObject): void {
  const decoded = sidecarSet.read(object);
  if ("errors" in decoded) return;
  const { hash, hashWithoutImage } = sidecarSetHashes(decoded.object.spec ?? {});
  const annotations = ensureObject(ensureObject(object, "metadata"), "annotations");
  annotations[sidecarSetHashAnnotation] = hash;
  annotations[sidecarSetHashWithoutImageAnnotation] = hashWithoutImage;
}
