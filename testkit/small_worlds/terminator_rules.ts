/** What must not happen to the sidecars of a job's pod, and how it has to end. Spec: sidecarset, sidecar terminator. */
import { objectAt, objectsAt, textAt } from "../../controller/native/json_fields.ts";
import type { WriteEffect } from "../../controller/plan/effects.ts";
import { isJsonObject, type JsonObject, jsonEqual } from "../../kube/core/index.ts";
import {
  type Container,
  containersIn,
  fares,
  isDone,
  isGoing,
  isLast,
  isTaken,
  isTold,
  ownerOf,
  phaseOf,
  type Role,
  resultOf,
  uidOf,
} from "./terminator_node.ts";

/** Behaviour 1: no sidecar ends before all other containers are over for good. */
export function checkMains(pod: JsonObject, containers: readonly Container[]): void {
  const left = mainsOf(containers).filter((name) => !isDone(pod, name));
  if (left.length > 0) throw new Error(`sidecars are ended, and ${left} goes on`);
}

/** What a pass wants to be written, by what it has seen. */
export function checkWrite(
  write: WriteEffect,
  pod: JsonObject,
  containers: readonly Container[],
  { isVirtual, waitedMs }: { readonly isVirtual: boolean; readonly waitedMs: number },
): void {
  checkMains(pod, containers);
  if (isGoing(pod)) throw new Error("a pod that is being deleted is written to");
  const unfinished = (role: Role) =>
    containers
      .filter((one) => one.role === role && typeof fares(pod, one.name) !== "number")
      .map(({ name }) => name);
  const [sidecars, ignored] = [unfinished("sidecar"), unfinished("ignored")];
  const body = bodyOf(write);
  if (isVirtual || write.resource === "requests") {
    const named = isVirtual
      ? objectsAt(objectAt(body, "spec"), "containers").map((one) => textAt(one, "name"))
      : containersIn(body);
    // Behaviours 2 to 4.
    const meant = isVirtual ? unfinished("by image") : sidecars.length > 0 ? sidecars : ignored;
    if (!jsonEqual(named, meant)) throw new Error(`${named} are ended, ${meant} are to be`);
    if (isVirtual || sidecars.length > 0) return;
    // docs/compatibility.md: the kubelet knows of the result, or has had 10 s for it.
    const isKnown = isTold(pod) && isLast(phaseOf(pod)) && (isTaken(pod) || waitedMs >= 10_000);
    if (!isKnown) throw new Error(`${named} are ended, and the kubelet does not know of the result`);
    return;
  }
  if (write.type !== "patch" || write.subresource !== "status")
    throw new Error("images are replaced where an agent is");
  // Behaviour 4.
  if (sidecars.length > 0) throw new Error(`the result is told, and ${sidecars} goes on`);
  const phase = textAt(objectAt(body, "status"), "phase");
  const meant = resultOf(pod, mainsOf(containers));
  if (phase !== meant) throw new Error(`the result ${phase} is told, it is ${meant}`);
}

/** Before it is stored. */
export function checkRequest(
  request: JsonObject,
  pod: JsonObject,
  containers: readonly Container[],
  others: Iterable<JsonObject>,
): void {
  const uid = ownerOf(request);
  if (uid !== uidOf(pod)) throw new Error("a request for a pod that is gone is about another one");
  checkMains(pod, containers);
  const named = new Set(containersIn(request));
  for (const other of others)
    for (const name of ownerOf(other) === uid ? containersIn(other) : [])
      if (named.has(name)) throw new Error(`${name} is ended twice`);
}

function bodyOf(write: WriteEffect): JsonObject {
  const body: unknown = write.type === "create" ? write.body : write.type === "patch" ? write.patch.body : {};
  return isJsonObject(body) ? body : {};
}

function mainsOf(containers: readonly Container[]): string[] {
  return containers.filter(({ role }) => role === "main").map(({ name }) => name);
}

/** How a pod is at rest. `left`: nobody ends its sidecars. */
export function unsettledPod(
  pod: JsonObject,
  containers: readonly Container[],
  end: "completed" | "left",
): string | undefined {
  const running = containers.filter(({ name }) => fares(pod, name) === "running").map(({ name }) => name);
  if (end === "left") return running.length > 0 ? undefined : "a pod that is over";
  if (running.length > 0) return `${running} still at work`;
  const ignores = containers.some(({ role }) => role === "ignored");
  const counting = ignores ? mainsOf(containers) : containers.map(({ name }) => name);
  const meant = resultOf(pod, counting);
  return phaseOf(pod) === meant ? undefined : `the phase ${phaseOf(pod)}, the result is ${meant}`;
}
