/** What follows from a sidecar for every pod: worked out once, when its set changes. Spec: sidecarset 3, 7 to 9, 40. */
import {
  isHotUpgrade,
  podContainerNames,
  type SidecarContainer,
  type SidecarList,
} from "../../../../crds/index.ts";
import {
  compareBytes,
  type JsonObject,
  type MetadataReference,
  metadataReference,
} from "../../../../kube/core/index.ts";
import { objectsAt } from "../../../native/json_fields.ts";
import { hotUpgradeEnv, injectedMark } from "./env.ts";

type TransferEnv = NonNullable<SidecarContainer["transferEnv"]>[number];

/** Variables to copy from one of the pod's own containers. */
export interface Transfer {
  /** Name of the container, or the label or annotation that says it. */
  readonly from: string | MetadataReference | undefined;
  /** Sorted. */
  readonly names: readonly string[];
}

export interface SharedKinds {
  readonly mounts: boolean;
  readonly devices: boolean;
}

/** The same objects for all sidecars: what a pod's containers share is looked up by them. */
const sharedKinds: readonly SharedKinds[] = [
  { mounts: true, devices: true },
  { mounts: true, devices: false },
  { mounts: false, devices: true },
];

/** One of the containers that a sidecar becomes in a pod. */
export interface PreparedContainer {
  readonly name: string;
  /** All that does not depend on the pod, without `env`. */
  readonly fields: JsonObject;
  /** Variables that come last. */
  readonly lastEnv: readonly JsonObject[];
}

/** Pods share what is in here: nothing of it may be written to. */
export interface PreparedSidecar {
  readonly sidecar: SidecarContainer;
  /** One, or the two of a hot upgrade. */
  readonly containers: readonly PreparedContainer[];
  /** Its own variables and the mark of a sidecar. */
  readonly env: readonly JsonObject[];
  readonly envNames: ReadonlySet<unknown>;
  readonly transfers: readonly Transfer[];
  /** Undefined: nothing is shared. */
  readonly shares: SharedKinds | undefined;
  /** Where its own mounts and devices are. */
  readonly paths: ReadonlySet<unknown>;
}

export function prepareSidecar(sidecar: SidecarContainer, list: SidecarList): PreparedSidecar {
  const mounts = sidecar.shareVolumePolicy?.type === "enabled";
  const devices = sidecar.shareVolumeDevicePolicy?.type === "enabled";
  const ownEnv = objectsAt({ ...sidecar }, "env");
  const isMarked = ownEnv.some(({ name }) => name === injectedMark["name"]);
  const env = isMarked ? ownEnv : [...ownEnv, injectedMark];
  return {
    sidecar,
    containers: containersOf(sidecar, list),
    env,
    envNames: new Set(env.map(({ name }) => name)),
    transfers: (sidecar.transferEnv ?? []).map(transferOf),
    shares: sharedKinds.find((kinds) => kinds.mounts === mounts && kinds.devices === devices),
    paths: new Set<unknown>([
      ...objectsAt({ ...sidecar }, "volumeMounts").map(({ mountPath }) => mountPath),
      ...objectsAt({ ...sidecar }, "volumeDevices").map(({ devicePath }) => devicePath),
    ]),
  };
}

/** The containers of the pod API, without the fields that only a SidecarSet knows. */
function containersOf(sidecar: SidecarContainer, list: SidecarList): PreparedContainer[] {
  const {
    podInjectPolicy: _place,
    upgradeStrategy,
    shareVolumePolicy: _mounts,
    shareVolumeDevicePolicy: _devices,
    transferEnv: _transfers,
    resourcesPolicy: _resources,
    env: _env,
    ...core
  } = sidecar;
  const isHot = isHotUpgrade(sidecar, list);
  return podContainerNames(sidecar, list).map((name, index) => {
    const image = isHot && index > 0 ? (upgradeStrategy?.hotUpgradeEmptyImage ?? "") : core.image;
    const fields: JsonObject = { ...core, name, ...(image === undefined ? {} : { image }) };
    return { name, fields, lastEnv: isHot ? hotUpgradeEnv(name) : [] };
  });
}

function transferOf({ sourceContainerName, sourceContainerNameFrom, ...wanted }: TransferEnv): Transfer {
  const { envName = "", envNames = [] } = wanted;
  const names = [...new Set([envName, ...envNames])].filter((name) => name !== "").sort(compareBytes);
  const fieldPath = sourceContainerNameFrom?.fieldRef?.fieldPath;
  return { from: fieldPath === undefined ? sourceContainerName : metadataReference(fieldPath), names };
}
