/** Where objects of a kind hold values of core types, which the schemas of kinds leave open: pods' parts, mostly. */
import { type FieldError, type JsonObject, own, required, validateTypes } from "../kube/core/index.ts";
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

function valueAt(object: JsonObject, { path }: CorePlace): unknown {
  const holder = path.slice(0, -1).reduce(member, object);
  return own(holder, path[path.length - 1] ?? "");
}
