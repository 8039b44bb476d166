/** Typed views of claims, volumes and storage classes. */
import type {
  V1PersistentVolumeClaimStatus,
  V1PersistentVolumeSpec,
  V1PersistentVolumeStatus,
  V1StorageClass,
} from "@kubernetes/client-node";
import { isJsonObject } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import type { AsJson } from "./as_json.ts";
import type { ClaimSpec } from "./pods.ts";

export type ClaimObject = StoredObject & { spec: ClaimSpec; status?: AsJson<V1PersistentVolumeClaimStatus> };

export type VolumeObject = StoredObject & {
  spec: AsJson<V1PersistentVolumeSpec>;
  status?: AsJson<V1PersistentVolumeStatus>;
};

export type StorageClassObject = StoredObject &
  Pick<V1StorageClass, "provisioner" | "volumeBindingMode" | "reclaimPolicy" | "allowVolumeExpansion">;

export function isClaim(object: StoredObject | undefined): object is ClaimObject {
  return object !== undefined && isJsonObject(object["spec"]);
}

export function isVolume(object: StoredObject | undefined): object is VolumeObject {
  return object !== undefined && isJsonObject(object["spec"]);
}

export function isStorageClass(object: StoredObject | undefined): object is StorageClassObject {
  return typeof object?.["provisioner"] === "string";
}

export const defaultClassAnnotation = "storageclass.kubernetes.io/is-default-class";
export const selectedNodeAnnotation = "volume.kubernetes.io/selected-node";
