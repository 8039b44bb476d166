/** Containers that wait for others of their pod to be ready. Spec: pod-webhook 4.4. */
import { goQuote, isJsonObject, type JsonObject } from "../../../kube/core/index.ts";
import type { Random } from "../../../kube/index.ts";
import { objectAt, objectsAt } from "../../native/json_fields.ts";
import { randomId } from "../../rollout/pods/pod_manifest.ts";
import { type PodDraft, writableList, writableObject } from "../../runtime/admission/pod_draft.ts";

const launchPriorityAnnotation = "apps.kruise.io/container-launch-priority";
const priorityVariable = "KRUISE_CONTAINER_PRIORITY";
/** By what key of a ConfigMap a container is held back. */
export const barrierVariable = "KRUISE_CONTAINER_BARRIER";

/**
 * Gives each container a variable from a key of a ConfigMap that does not exist yet: the kubelet holds the container
 * back until the controller adds the key. Throws when a priority is no number.
 */
export function addLaunchBarrier(draft: PodDraft, { random }: { random: Random }): void {
  if (draft.request.operation !== "CREATE") return;
  const containers = objectsAt(draft.spec, "containers");
  if (containers.length < 2) return;
  const ordered = objectAt(draft.metadata, "annotations")[launchPriorityAnnotation] === "Ordered";
  const priorities = new Map<unknown, number>(
    containers.map((container, index) => [container, ordered ? -index : priorityOf(container)]),
  );
  if (new Set(priorities.values()).size === 1) return;
  const pod = draft.edit();
  const configMap = `${ensureName(writableObject(pod, "metadata"), random)}-barrier`;
  const spec = writableObject(pod, "spec");
  spec["containers"] = writableList(spec, "containers").map((container) => {
    const priority = priorities.get(container);
    return isJsonObject(container) && priority !== undefined
      ? heldBack(container, { name: configMap, key: `p_${priority}` })
      : container;
  });
}

function heldBack(container: JsonObject, configMapKeyRef: { name: string; key: string }): JsonObject {
  const copy = { ...container };
  writableList(copy, "env").push({ name: barrierVariable, valueFrom: { configMapKeyRef } });
  return copy;
}

/** The last of repeated variables counts; each must be a number. */
function priorityOf(container: JsonObject): number {
  let priority = 0;
  for (const variable of objectsAt(container, "env")) {
    if (variable["name"] === priorityVariable) priority = parsePriority(variable["value"]);
  }
  return priority;
}

function parsePriority(value: unknown): number {
  const text = typeof value === "string" ? value : "";
  if (!/^[+-]?\d+$/.test(text)) throw new Error(`strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`);
  const priority = Number(text);
  if (!Number.isSafeInteger(priority))
    throw new Error(`strconv.Atoi: parsing ${goQuote(text)}: value out of range`);
  // Also turns -0 into 0.
  return priority + 0;
}

const longestBase = 58;

/** The ConfigMap is named after the pod, so the pod must have its name now and not only in the API server. */
function ensureName(metadata: JsonObject, random: Random): string {
  const { name, generateName } = metadata;
  if (typeof name === "string" && name !== "") return name;
  if (typeof generateName !== "string" || generateName === "") return "";
  const generated = generateName.slice(0, longestBase) + randomId(random);
  metadata["name"] = generated;
  return generated;
}
