/** Volumes and pull secrets that a pod gets with its sidecars. Spec: sidecarset 6. */
import type { SidecarContainer, Volume } from "../../../../crds/index.ts";
import type { JsonObject } from "../../../../kube/core/index.ts";
import { objectsAt } from "../../../native/json_fields.ts";

/** Those of `volumes` that the sidecars themselves mount, in the order of their mounts. */
export function mountedVolumes(sidecars: readonly SidecarContainer[], volumes: readonly Volume[]): Volume[] {
  const names = new Set(sidecars.flatMap(volumeNames));
  // A mount of no volume is refused by the API server, with the right words.
  return [...names].flatMap((name) => volumes.find((volume) => volume.name === name) ?? []);
}

function volumeNames(sidecar: SidecarContainer): unknown[] {
  const lists = [objectsAt({ ...sidecar }, "volumeMounts"), objectsAt({ ...sidecar }, "volumeDevices")];
  return lists.flat().map(({ name }) => name);
}

/** Of the sets' lists, in turn, what the pod has no other of that name of: its own one stays. */
export function missing<T extends { readonly name?: unknown }>(
  present: readonly JsonObject[],
  lists: readonly (readonly T[])[],
): T[] {
  const names = new Set(present.map(({ name }) => name));
  const found: T[] = [];
  for (const one of lists.flat()) {
    if (names.has(one.name)) continue;
    names.add(one.name);
    found.push(one);
  }
  return found;
}
