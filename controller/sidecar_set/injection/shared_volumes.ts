/** Mounts and devices of the pod's own containers that a sidecar shares. Spec: sidecarset 9. */
import type { SidecarContainer } from "../../../crds/index.ts";
import { type JsonObject, own } from "../../../kube/core/index.ts";
import { objectsAt } from "../../json_fields.ts";
import { isInjected, variablesOf } from "./env.ts";

export interface SharedVolumes {
  readonly mounts: readonly JsonObject[];
  readonly devices: readonly JsonObject[];
  /** Variables that the paths of the mounts are made of. */
  readonly env: readonly JsonObject[];
}

/** What a sidecar gets beside its own; `containers` are those of the pod. */
export function sharedVolumes(sidecar: SidecarContainer, containers: readonly JsonObject[]): SharedVolumes {
  const sharesMounts = sidecar.shareVolumePolicy?.type === "enabled";
  const sharesDevices = sidecar.shareVolumeDevicePolicy?.type === "enabled";
  const shared = { mounts: [] as JsonObject[], devices: [] as JsonObject[], env: [] as JsonObject[] };
  if (!sharesMounts && !sharesDevices) return shared;
  const taken = new Set<unknown>([
    ...objectsAt(sidecar, "volumeMounts").map(({ mountPath }) => mountPath),
    ...objectsAt(sidecar, "volumeDevices").map(({ devicePath }) => devicePath),
  ]);
  for (const container of containers) {
    if (isInjected(container)) continue;
    for (const mount of sharesMounts ? objectsAt(container, "volumeMounts") : []) {
      if (taken.has(mount["mountPath"])) continue;
      taken.add(mount["mountPath"]);
      shared.mounts.push(mount);
      shared.env.push(...variablesOf(container, referencesIn(own(mount, "subPathExpr"))));
    }
    for (const device of sharesDevices ? objectsAt(container, "volumeDevices") : []) {
      if (taken.has(device["devicePath"])) continue;
      taken.add(device["devicePath"]);
      shared.devices.push(device);
    }
  }
  return shared;
}

/** The names in `$(NAME)`; `$$` stands for a dollar. */
function referencesIn(expression: unknown): Set<string> {
  const names = new Set<string>();
  if (typeof expression !== "string") return names;
  for (const [, name] of expression.matchAll(/\$\$|\$\(([^()$]*)\)/g))
    if (name !== undefined) names.add(name);
  return names;
}
