/**
 * Writes of the ConfigMap whose keys hold a pod's containers back. The right to write ConfigMaps knows no names, so each
 * patch tells whose object it expects, and the server refuses it as a whole for any other: no look before the write is
 * needed, and none could be outdated.
 */
import type { JsonPatchOperation, Pod } from "../../../kube/index.ts";
import type { Attempt, AttemptsEffect, EventEffect, WriteEffect } from "../../plan/effects.ts";
import { barrierName } from "./plan.ts";

/** Under which outcomes tell which of the attempts was made. */
export const GIVEN = "given";
/** The ConfigMap was that of a former pod of the name. */
export const TAKEN_OVER = "taken over";

interface Barrier {
  readonly keys: readonly string[];
  /** There most likely is no ConfigMap yet. */
  readonly fresh: boolean;
  /** What follows once the keys are in the pod's own ConfigMap. */
  readonly given: Attempt["next"];
  /** What follows once the ConfigMap of a former pod was taken over. */
  readonly takenOver: Attempt["next"];
  /** The ConfigMap is somebody else's: nothing was written. */
  readonly blocked: EventEffect;
}

/** One request unless something is odd. */
export function barrierEffect(pod: Pod, barrier: Barrier): AttemptsEffect {
  const { keys, fresh, given = [], takenOver = [], blocked } = barrier;
  const { namespace, uid } = pod;
  const target = { resource: "barriers", namespace, name: barrierName(pod), priority: "high" } as const;
  const metadata = { ownerReferences: [ownerOf(pod)] };
  const create: WriteEffect = {
    ...target,
    type: "create",
    id: GIVEN,
    body: { metadata, data: dataOf(keys) },
  };
  const patch = (id: string, body: readonly JsonPatchOperation[]): WriteEffect => {
    return { ...target, type: "patch", id, patch: { type: "json", body } };
  };
  return {
    type: "attempts",
    attempts: [
      ...(fresh ? [{ effect: create, next: given }] : []),
      { effect: patch(GIVEN, addition(uid, keys)), after: ["AlreadyExists"], next: given },
      { effect: create, after: ["NotFound"], next: given },
      { effect: patch(TAKEN_OVER, takeover(pod, keys)), after: ["Invalid"], next: takenOver },
      { effect: blocked, after: ["Invalid"] },
    ],
  };
}

const firstOwner = "/metadata/ownerReferences/0";

/** Of the pod's own: what others keep in it stays. */
function addition(uid: string, keys: readonly string[]): JsonPatchOperation[] {
  return [
    { op: "test", path: `${firstOwner}/uid`, value: uid },
    ...keys.map((key): JsonPatchOperation => ({ op: "add", path: `/data/${key}`, value: "true" })),
  ];
}

/** Of a former pod of this name: its keys would let everything start at once, and it only waits for its collection. */
function takeover(pod: Pod, keys: readonly string[]): JsonPatchOperation[] {
  return [
    { op: "test", path: `${firstOwner}/kind`, value: "Pod" },
    { op: "test", path: `${firstOwner}/name`, value: pod.name },
    { op: "replace", path: "/metadata/ownerReferences", value: [ownerOf(pod)] },
    { op: "add", path: "/data", value: dataOf(keys) },
  ];
}

function ownerOf({ name, uid }: Pod): object {
  return { apiVersion: "v1", kind: "Pod", name, uid };
}

function dataOf(keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(keys.map((key) => [key, "true"]));
}
