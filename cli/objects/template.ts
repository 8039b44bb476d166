/** Where the pod template of an object is, for commands that change it. */
import type { JsonPatchOperation } from "../../kube/index.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at, isFields, listAt, type Step, textAt } from "../fields.ts";
import { objectName, type ResourceType } from "../resource_types.ts";

export interface ContainerPlace {
  readonly name: string;
  readonly container: unknown;
  readonly path: readonly Step[];
}

/** What a `set` command does to the containers of one object. */
export interface TemplateChange {
  /** For the sentence: `image updated`. */
  readonly did: string;
  /** Words that name objects, without those that say what to set. */
  readonly objectWords: readonly string[];
  operations(places: readonly ContainerPlace[]): JsonPatchOperation[];
}

const templatePaths: readonly (readonly string[])[] = [
  ["spec", "template", "spec"],
  ["spec", "jobTemplate", "spec", "template", "spec"],
  // Of a UnitedDeployment, by the kind of its workloads.
  ...["cloneSetTemplate", "advancedStatefulSetTemplate", "statefulSetTemplate", "deploymentTemplate"].map(
    (name) => ["spec", "template", name, "spec", "template", "spec"],
  ),
];

/** Undefined for an object without a pod template. */
export function podSpecPath(object: AnyObject): readonly string[] | undefined {
  // A SidecarSet lists its containers as a pod does.
  if (object.kind === "Pod" || object.kind === "SidecarSet") return ["spec"];
  return templatePaths.find((path) => isFields(at(object, ...path)));
}

/** All containers, init containers last. Throws CliError when the object has no pod template. */
export function containersOf(type: ResourceType, object: AnyObject): ContainerPlace[] {
  const base = podSpecPath(object);
  if (base === undefined) {
    throw new CliError(`${objectName(type, object.metadata.name ?? "")} has no containers to change`);
  }
  return ["containers", "initContainers"].flatMap((list) =>
    listAt(object, ...base, list).map((container, index) => ({
      name: textAt(container, "name") ?? "",
      container,
      path: [...base, list, index],
    })),
  );
}

/** Those that a pattern is for. Throws CliError where there is none. */
export function matchingContainers(places: readonly ContainerPlace[], pattern: string): ContainerPlace[] {
  const chosen = chosenContainers(places, pattern);
  if (chosen.length === 0) throw new CliError(`no container matches "${pattern}"`);
  return chosen;
}

/** Containers whose name a pattern with `*` matches. */
export function chosenContainers(places: readonly ContainerPlace[], pattern: string): ContainerPlace[] {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  const matcher = new RegExp(`^${parts.join(".*")}$`);
  return places.filter((place) => matcher.test(place.name));
}
