/** The containers that a sidecar becomes in a pod, and their places among its own. Spec: sidecarset 3 to 5, 7 to 9, 40. */
import {
  hotUpgradeAltVersionPrefix,
  hotUpgradePair,
  hotUpgradeVersionPrefix,
  isHotUpgrade,
  type SidecarContainer,
} from "../../../crds/index.ts";
import { cloneJson, type JsonObject } from "../../../kube/core/index.ts";
import { objectAt, objectsAt } from "../../json_fields.ts";
import { firstByName, hotUpgradeEnv, injectedMark, transferredEnv } from "./env.ts";
import { sharedVolumes } from "./shared_volumes.ts";

type Place = "before" | "after";

/** A container of a pod, and where it goes unless the pod has one of its name. */
export interface Placed {
  readonly name: string;
  readonly place: Place;
  /** Nobody else's: it may be written to. */
  readonly container: JsonObject;
}

/** Where `policy` puts a sidecar; `usual`: where it says nothing. */
export function placeOf({ podInjectPolicy }: SidecarContainer, usual: Place): Place {
  if (podInjectPolicy === "BeforeAppContainer") return "before";
  return podInjectPolicy === "AfterAppContainer" ? "after" : usual;
}

/** Annotations that tell the two containers which of them serves. */
export function hotUpgradeVersions(name: string): Record<string, string> {
  const [working, idle] = hotUpgradePair(name);
  return {
    [hotUpgradeVersionPrefix + working]: "1",
    [hotUpgradeAltVersionPrefix + working]: "0",
    [hotUpgradeVersionPrefix + idle]: "0",
    [hotUpgradeAltVersionPrefix + idle]: "1",
  };
}

/** One container, or two with hot upgrade. `resources`: in place of its own. */
export function containersOf(
  sidecar: SidecarContainer,
  pod: JsonObject,
  resources?: JsonObject,
): JsonObject[] {
  const container = injected(sidecar, pod);
  if (resources !== undefined) container["resources"] = resources;
  if (!isHotUpgrade(sidecar)) return [container];
  const [working, idle] = hotUpgradePair(sidecar.name);
  const emptyImage = sidecar.upgradeStrategy?.hotUpgradeEmptyImage ?? "";
  return [
    hotUpgraded(container, working, container["image"]),
    hotUpgraded(cloneJson(container), idle, emptyImage),
  ];
}

function hotUpgraded(container: JsonObject, name: string, image: unknown): JsonObject {
  const env = firstByName([...objectsAt(container, "env"), ...hotUpgradeEnv(name)]);
  return { ...container, name, image, env };
}

/** The container of the pod API, without the fields that only a SidecarSet knows. */
function injected(sidecar: SidecarContainer, pod: JsonObject): JsonObject {
  const {
    podInjectPolicy: _place,
    upgradeStrategy: _upgrade,
    shareVolumePolicy: _mounts,
    shareVolumeDevicePolicy: _devices,
    transferEnv,
    resourcesPolicy: _resources,
    ...core
  } = sidecar;
  const shared = sharedVolumes(sidecar, objectsAt(objectAt(pod, "spec"), "containers"));
  const own = objectsAt(core, "env");
  const given = [injectedMark, ...transferredEnv(transferEnv ?? [], pod), ...shared.env];
  const ownNames = new Set(own.map(({ name }) => name));
  const added = firstByName(given).filter(({ name }) => !ownNames.has(name));
  const container: JsonObject = { ...core, env: [...own, ...added] };
  if (shared.mounts.length > 0)
    container["volumeMounts"] = [...objectsAt(core, "volumeMounts"), ...shared.mounts];
  if (shared.devices.length > 0)
    container["volumeDevices"] = [...objectsAt(core, "volumeDevices"), ...shared.devices];
  return cloneJson(container);
}

/** The pod's containers with the sidecars among them: one of the same name is replaced where it stands. */
export function withSidecars(own: readonly unknown[], sidecars: readonly Placed[]): unknown[] {
  const replaced = new Map<unknown, JsonObject>();
  const names = new Set(own.map(nameOf));
  const around: Record<Place, JsonObject[]> = { before: [], after: [] };
  for (const { name, place, container } of sidecars) {
    if (names.has(name)) replaced.set(name, container);
    else around[place].push(container);
  }
  const kept = own.map((container) => replaced.get(nameOf(container)) ?? container);
  return [...around.before, ...kept, ...around.after];
}

function nameOf(container: unknown): unknown {
  return typeof container === "object" && container !== null && "name" in container
    ? container.name
    : undefined;
}
