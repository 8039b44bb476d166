/** What a kind of the API is, and what the rest of the program can ask about it. */
import type { Static, TSchema } from "typebox";
import type { ObjectMeta } from "../kube/core/index.ts";
import type { CorePlace } from "./core_places.ts";
import type { Conversion } from "./members.ts";

export interface KindObject<Spec, Status> {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: Spec;
  status?: Status;
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: "integer" | "string" | "date" | "boolean";
  readonly jsonPath: string;
  readonly description: string;
  /** 1: shown only in wide output. */
  readonly priority?: 1;
}

export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath: string;
}

/** The scale subresource of every workload of this API that has one. */
export const workloadScale: ScalePaths = {
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
  labelSelectorPath: ".status.labelSelector",
};

export interface KindVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly spec: TSchema;
  readonly status: TSchema;
  readonly columns: readonly PrinterColumn[];
  readonly scale?: ScalePaths;
}

export interface KindDefinition<Version extends KindVersion = KindVersion> {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly scope: "Namespaced" | "Cluster";
  readonly description: string;
  /** Where the schema leaves values of core types open. */
  readonly corePlaces?: readonly CorePlace[];
  /** `None`: the API server rewrites apiVersion and drops unknown fields. Else what `/convert` of the controller answers. */
  readonly conversion: "None" | Conversion;
  readonly versions: readonly Version[];
}

/** An object of one version. */
export type ObjectOf<Version extends KindVersion> = KindObject<
  Static<Version["spec"]>,
  Static<Version["status"]>
>;

/** An object of the storage version. */
export type StoredObject<Version extends KindVersion> = ObjectOf<
  Extract<Version, { readonly storage: true }>
>;

/** The version in which objects are stored, and in which this program works. */
export function storageVersion(definition: KindDefinition): KindVersion {
  const found = definition.versions.find((version) => version.storage);
  if (found === undefined) throw new Error(`kind ${definition.kind} declares no storage version`);
  return found;
}

export function apiVersionOf(
  definition: KindDefinition,
  version: KindVersion = storageVersion(definition),
): string {
  return `${definition.group}/${version.name}`;
}

/** `<plural>.<group>`, the name of the definition object. */
export function definitionName(definition: KindDefinition): string {
  return `${definition.plural}.${definition.group}`;
}
