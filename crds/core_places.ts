/** Where objects of a kind hold values of core types, which the schemas of kinds leave open: pods' parts, mostly. */
import {
  type FieldError,
  isJsonObject,
  type JsonObject,
  own,
  required,
  validateTypes,
  withoutNulls,
} from "../kube/core/index.ts";
import { member } from "./members.ts";

export interface CorePlace {
  /** Names of members from the object on. */
  readonly path: readonly [string, ...string[]];
  /** A type of the core table: `PodTemplateSpec`. */
  readonly type: string;
  /** A list of such values. */
  readonly isList?: true;
}

export interface CoreValue {
  readonly value: unknown;
  readonly type: string;
  /** `spec.containers[0]`. */
  readonly path: string;
}

const specList = (name: string, type: string): CorePlace => ({ path: ["spec", name], type, isList: true });

export const workloadTemplates: readonly CorePlace[] = [
  { path: ["spec", "template"], type: "PodTemplateSpec" },
  specList("volumeClaimTemplates", "PersistentVolumeClaim"),
];

export const sidecars: readonly CorePlace[] = [
  specList("containers", "Container"),
  specList("initContainers", "Container"),
  specList("volumes", "Volume"),
];

/** The template of an ImageListPullJob is in the schema. */
export const cronJobTemplates: readonly CorePlace[] = [
  { path: ["spec", "template", "jobTemplate"], type: "JobTemplateSpec" },
  { path: ["spec", "template", "broadcastJobTemplate", "spec", "template"], type: "PodTemplateSpec" },
];

/** What a UnitedDeployment makes its workloads from. */
export const subsetTemplates: readonly CorePlace[] = [
  { path: ["spec", "template", "statefulSetTemplate", "spec"], type: "StatefulSetSpec" },
  { path: ["spec", "template", "deploymentTemplate", "spec"], type: "DeploymentSpec" },
  { path: ["spec", "template", "advancedStatefulSetTemplate", "spec", "template"], type: "PodTemplateSpec" },
  { path: ["spec", "template", "cloneSetTemplate", "spec", "template"], type: "PodTemplateSpec" },
];

/** The values at the places; a list counts as its items. */
export function coreValues(object: JsonObject, places: readonly CorePlace[]): CoreValue[] {
  return places.flatMap((place) => {
    const { path, type, isList } = place;
    const name = path.join(".");
    const value = valueAt(object, place);
    if (isList !== true) return [{ value, type, path: name }];
    const items: readonly unknown[] = Array.isArray(value) ? value : [];
    return items.map((item, index) => ({ value: item, type, path: `${name}[${index}]` }));
  });
}

/** Mistakes of type in them. */
export function coreTypeErrors(object: JsonObject, places: readonly CorePlace[]): FieldError[] {
  const noLists = places.filter((place) => {
    const value = valueAt(object, place) ?? [];
    return place.isList === true && !Array.isArray(value);
  });
  return [
    ...noLists.map(({ path }) => required(path.join("."), "must be a list")),
    ...coreValues(object, places).flatMap(({ value, type, path }) => validateTypes(value, type, path)),
  ];
}

/** The object with what is at the places as decoders with types read it: without nulls. The very object where there are none. */
export function withCoreRead(object: JsonObject, places: readonly CorePlace[]): JsonObject {
  return places.reduce((read, { path, type, isList }) => {
    const readValue = (value: unknown): unknown => {
      if (isList !== true) return withoutNulls(value, type);
      if (!Array.isArray(value)) return value;
      const items = value.map((item) => withoutNulls(item ?? {}, type));
      return items.every((item, index) => item === value[index]) ? value : items;
    };
    return changedAt(read, path, readValue);
  }, object);
}

function changedAt(
  object: JsonObject,
  [name, ...rest]: readonly string[],
  change: (value: unknown) => unknown,
): JsonObject {
  if (name === undefined) return object;
  const value = own(object, name);
  const next =
    rest.length === 0 ? change(value) : isJsonObject(value) ? changedAt(value, rest, change) : value;
  return next === value ? object : { ...object, [name]: next };
}

function valueAt(object: JsonObject, { path }: CorePlace): unknown {
  const holder = path.slice(0, -1).reduce(member, object);
  return own(holder, path[path.length - 1] ?? "");
}
