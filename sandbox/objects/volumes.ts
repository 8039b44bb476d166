/** Typed views of claims, volumes and storage classes. */
import { isJsonObject, type NodeSelectorTerm } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import type { ClaimSpec } from "./pods.ts";

export type ClaimObject = StoredObject & {
  spec: ClaimSpec;
  status?: { phase?: string; accessModes?: string[]; capacity?: Record<string, string> };
};

interface ClaimReference {
  apiVersion?: string;
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  resourceVersion?: string;
}

export type VolumeObject = StoredObject & {
  spec: {
    capacity?: Record<string, string>;
    accessModes?: string[];
    storageClassName?: string;
    volumeMode?: string;
    persistentVolumeReclaimPolicy?: string;
    claimRef?: ClaimReference;
    nodeAffinity?: { required?: { nodeSelectorTerms?: NodeSelectorTerm[] | null } };
    [source: string]: unknown;
  };
  status?: { phase?: string };
};

export type StorageClassObject = StoredObject & {
  provisioner: string;
  volumeBindingMode?: string;
  reclaimPolicy?: string;
};

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
