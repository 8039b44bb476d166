/** The environment of an injected container. Spec: sidecarset 7, 8, 40. */
import {
  hotUpgradeAltVersionEnv,
  hotUpgradeAltVersionPrefix,
  hotUpgradeVersionEnv,
  hotUpgradeVersionPrefix,
  injectedEnv,
  type SidecarContainer,
} from "../../../crds/index.ts";
import { compareBytes, type JsonObject, metadataReference, own } from "../../../kube/core/index.ts";
import { objectAt, objectsAt } from "../../json_fields.ts";

type TransferEnv = NonNullable<SidecarContainer["transferEnv"]>[number];

/** What marks a container as a sidecar. */
export const injectedMark: JsonObject = { name: injectedEnv, value: "true" };

/** Whether a container of a pod is a sidecar. */
export function isInjected(container: JsonObject): boolean {
  return objectsAt(container, "env").some(({ name, value }) => name === injectedEnv && value === "true");
}

/** The first of each name, in the order given. */
export function firstByName(variables: Iterable<JsonObject>): JsonObject[] {
  const known = new Set<unknown>();
  const first: JsonObject[] = [];
  for (const variable of variables) {
    if (known.has(variable["name"])) continue;
    known.add(variable["name"]);
    first.push(variable);
  }
  return first;
}

/** Variables copied whole from containers of the pod; what is not there is left out. */
export function transferredEnv(entries: readonly TransferEnv[], pod: JsonObject): JsonObject[] {
  const containers = objectsAt(objectAt(pod, "spec"), "containers");
  return entries.flatMap((entry) => {
    const source = sourceName(entry, pod);
    const container = containers.find(({ name }) => name === source);
    if (container === undefined) return [];
    const { envName = "", envNames = [] } = entry;
    const names = new Set([envName, ...envNames].filter((name) => name !== "").sort(compareBytes));
    return variablesOf(container, names);
  });
}

/** In the order of `names`; the last of repeated variables is the one that a container sees. */
export function variablesOf(container: JsonObject, names: ReadonlySet<string>): JsonObject[] {
  if (names.size === 0) return [];
  const byName = new Map(objectsAt(container, "env").map((variable) => [variable["name"], variable]));
  return [...names].map((name) => byName.get(name)).filter((variable) => variable !== undefined);
}

function sourceName({ sourceContainerName, sourceContainerNameFrom }: TransferEnv, pod: JsonObject): unknown {
  const fieldPath = sourceContainerNameFrom?.fieldRef?.fieldPath;
  if (fieldPath === undefined) return sourceContainerName;
  const reference = metadataReference(fieldPath);
  return reference && own(objectAt(objectAt(pod, "metadata"), reference.from), reference.key);
}

/** The versions by which the two containers of a hot upgrade know which of them is to serve. */
export function hotUpgradeEnv(container: string): JsonObject[] {
  return [
    fromAnnotation(hotUpgradeVersionEnv, hotUpgradeVersionPrefix + container),
    fromAnnotation(hotUpgradeAltVersionEnv, hotUpgradeAltVersionPrefix + container),
  ];
}

function fromAnnotation(name: string, annotation: string): JsonObject {
  const fieldRef = { apiVersion: "v1", fieldPath: `metadata.annotations['${annotation}']` };
  return { name, valueFrom: { fieldRef } };
}
