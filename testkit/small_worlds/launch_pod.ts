/** A pod whose containers wait for keys, and the ConfigMap that has them: each change makes another one. Spec: containers 2.2. */
import { objectAt, objectsAt, textAt } from "../../controller/native/json_fields.ts";
import type { WriteEffect } from "../../controller/plan/effects.ts";
import { applyMergePatch, type JsonObject, own } from "../../kube/core/index.ts";
import { POD, uidOf } from "./launch_controller.ts";

export const BARRIER = `${POD.name}-barrier`;

/** As admission makes it: rule 2. */
export function podOf(uid: string, priorities: Readonly<Record<string, number>>): JsonObject {
  const containers = Object.entries(priorities).map(([name, priority]) => {
    const configMapKeyRef = { name: BARRIER, key: keyOfPriority(priority) };
    return {
      name,
      image: "i:1",
      env: [{ name: "KRUISE_CONTAINER_BARRIER", valueFrom: { configMapKeyRef } }],
    };
  });
  return { metadata: { ...POD, uid }, spec: { nodeName: "n1", containers }, status: { phase: "Pending" } };
}

export function mapOf(uid: string, owners: readonly object[], keys: readonly string[]): JsonObject {
  const metadata = { namespace: POD.namespace, name: BARRIER, uid, ownerReferences: owners };
  return Object({ metadata, data: Object.fromEntries(keys.map((key) => [key, "true"])) });
}

export function ownerOf(uid: string): object {
  return { apiVersion: "v1", kind: "Pod", name: POD.name, uid };
}

export function keyOfPriority(priority: number): string {
  return `p_${priority}`;
}

export function isGoing(pod: JsonObject): boolean {
  return own(objectAt(pod, "metadata"), "deletionTimestamp") !== undefined;
}

export function goingOf(pod: JsonObject): JsonObject {
  return Object(applyMergePatch(pod, { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }));
}

export function keysOf(map: JsonObject | undefined): number {
  return Object.keys(objectAt(map ?? {}, "data")).length;
}

export function ownersOf(map: JsonObject | undefined): JsonObject[] {
  return objectsAt(objectAt(map ?? {}, "metadata"), "ownerReferences");
}

/** By a pod that is gone. */
export function isLeft(map: JsonObject | undefined, pod: JsonObject | undefined): boolean {
  return ownersOf(map).length > 0 && !isOwn(map, pod);
}

export function isOwn(map: JsonObject | undefined, pod: JsonObject | undefined): boolean {
  const [first = {}] = ownersOf(map);
  return pod !== undefined && textAt(first, "uid") === uidOf(pod);
}

export function annotationOf(pod: JsonObject, name: string): string {
  return textAt(objectAt(objectAt(pod, "metadata"), "annotations"), name);
}

export function statusOf(pod: JsonObject, name: string): JsonObject {
  const statuses = objectsAt(objectAt(pod, "status"), "containerStatuses");
  return statuses.find((one) => textAt(one, "name") === name) ?? {};
}

export function isReady(pod: JsonObject, name: string): boolean {
  return own(statusOf(pod, name), "ready") === true;
}

export function withContainer(pod: JsonObject, name: string, change: object): JsonObject {
  const statuses = objectsAt(objectAt(pod, "status"), "containerStatuses");
  return withStatuses(
    pod,
    statuses.map((one) => (textAt(one, "name") === name ? { ...one, ...change } : one)),
  );
}

export function withStatuses(pod: JsonObject, containerStatuses: readonly object[]): JsonObject {
  return { ...pod, status: { ...objectAt(pod, "status"), containerStatuses } };
}

/** Which containers a write lets go. */
export function keysIn(write: WriteEffect): string[] {
  return JSON.stringify(write).match(/p_-?\d+/g) ?? [];
}
