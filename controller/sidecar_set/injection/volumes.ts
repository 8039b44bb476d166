/** Volumes and pull secrets that a pod gets with its sidecars. Spec: sidecarset 6. */
import type { SidecarContainer } from "../../../crds/index.ts";
import { cloneJson, type JsonObject } from "../../../kube/core/index.ts";
import { objectsAt } from "../../json_fields.ts";
import type { Sidecars } from "./sidecars.ts";

/** Those that the sidecars themselves mount and the pod does not have, in the order of their mounts. */
export function missingVolumes(present: readonly JsonObject[], sets: readonly Sidecars[]): JsonObject[] {
  const names = new Set(present.map(({ name }) => name));
  const missing: JsonObject[] = [];
  for (const { containers, initContainers, volumes } of sets) {
    for (const name of [...initContainers, ...containers].flatMap(mountedVolumes)) {
      if (names.has(name)) continue;
      // A mount of no volume is refused by the API server, with the right words.
      const volume = volumes.find((one) => one.name === name);
      if (volume === undefined) continue;
      names.add(name);
      missing.push(cloneJson(volume));
    }
  }
  return missing;
}

function mountedVolumes(sidecar: SidecarContainer): unknown[] {
  return [...objectsAt(sidecar, "volumeMounts"), ...objectsAt(sidecar, "volumeDevices")].map(
    ({ name }) => name,
  );
}

/** Those that the pod does not have. */
export function missingPullSecrets(present: readonly JsonObject[], sets: readonly Sidecars[]): JsonObject[] {
  const names = new Set(present.map(({ name }) => name));
  const missing: JsonObject[] = [];
  for (const secret of sets.flatMap(({ imagePullSecrets }) => imagePullSecrets)) {
    if (names.has(secret.name)) continue;
    names.add(secret.name);
    missing.push({ ...secret });
  }
  return missing;
}
