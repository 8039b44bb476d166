/** What the server knows about each kind that it stores. */

import type { FieldError, Random } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import type { Table } from "../storage.ts";
import type { Printer } from "./printer.ts";
import type { Shape } from "./shape.ts";

export interface ScalePaths {
  readonly replicas: readonly string[];
  readonly statusReplicas: readonly string[];
  /** Of a selector text, or of a LabelSelector. */
  readonly selector: readonly string[] | undefined;
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface Subresource extends GroupVersionKind {
  readonly name: string;
  readonly verbs: readonly string[];
}

/** What a strategy may look at while it prepares or validates an object. */
export interface WriteContext {
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  readonly random: Random;
  /** Texts for Warning headers. */
  readonly warnings: string[];
  /** A stored object of another resource, named as in Cluster. */
  lookup(resource: string, namespace: string, name: string): StoredObject | undefined;
  list(resource: string, namespace?: string): Iterable<StoredObject>;
}

/** The rules of one kind. Drafts may be changed in place; stored objects never. */
export interface Strategy {
  /** Values that the server fills in, on create and on update. */
  defaults?(draft: StoredObject, context: WriteContext): void;
  /** What built-in admission plugins add, before webhooks see the object; on create and on update. */
  admit?(draft: StoredObject, context: WriteContext): void;
  prepareCreate?(draft: StoredObject, context: WriteContext): void;
  prepareUpdate?(draft: StoredObject, stored: StoredObject, context: WriteContext, subresource: string): void;
  validateCreate?(object: StoredObject, context: WriteContext): FieldError[];
  validateUpdate?(
    object: StoredObject,
    stored: StoredObject,
    context: WriteContext,
    subresource: string,
  ): FieldError[];
  /** After the generic part (everything but status comes from the stored object). */
  prepareStatus?(draft: StoredObject, stored: StoredObject, context: WriteContext): void;
  validateStatus?(object: StoredObject, stored: StoredObject, context: WriteContext): FieldError[];
  /** `metadata.generation` starts at 1 and grows with each change of these parts; absent: the kind has none. */
  readonly generationOf?: (object: StoredObject) => unknown;
  /** Status has its own subresource: other writes cannot change it. */
  readonly hasStatus: boolean;
  /** Which metadata a write to /status may change. */
  readonly statusMetadata: "none" | "labels" | "all";
  /** Names of objects: the first broken rule each. */
  nameErrors(name: string): readonly string[];
  /** Put on an object when its deletion is asked for; the server itself takes it off again. */
  readonly finalizerOnDelete?: string;
  /** Dependents stay behind unless the request says otherwise. */
  readonly orphansByDefault?: string;
}

/** One table of objects. */
export interface Resource {
  /** `pods`, `leases.coordination.k8s.io`. */
  readonly name: string;
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly table: Table;
  /** New writes are stored as this; older objects may still have another one. */
  readonly storedApiVersion: string;
  readonly strategy: Strategy;
  readonly custom: boolean;
  /** Objects as another version of their group; at once where no webhook is needed. */
  convert(objects: readonly StoredObject[], apiVersion: string): StoredObject[] | Promise<StoredObject[]>;
}

/** A resource as one group version shows it. */
export interface Served extends GroupVersionKind {
  readonly resource: Resource;
  readonly apiVersion: string;
  readonly plural: string;
  readonly singular: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  readonly subresources: ReadonlyMap<string, Subresource>;
  readonly shape: Shape;
  readonly printer: Printer;
  /** Fields that selectors may name besides metadata.name and metadata.namespace. */
  readonly selectable: ReadonlyMap<string, (object: StoredObject) => string>;
  /** Where the scale subresource finds its numbers; absent for built-in kinds, which all have the same. */
  readonly scale?: ScalePaths;
  /** Text that each use is answered with, for deprecated versions. */
  readonly deprecation: string | undefined;
}

export function apiVersionOf(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

export function splitApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf("/");
  return slash < 0
    ? { group: "", version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}
