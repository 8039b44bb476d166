/** What a pod's object says, in the words of a bench. Pure. */
import type { PodObject } from "../../sandbox/index.ts";

/** In the order in which plots stack them. */
export const podStates = ["ready", "updating", "starting", "pending", "terminating", "finished"] as const;
export type PodState = (typeof podStates)[number];

export function podStateOf(pod: PodObject): PodState {
  if (isTerminating(pod)) return "terminating";
  const { phase } = pod.status ?? {};
  if (phase === "Succeeded" || phase === "Failed") return "finished";
  if (!pod.spec.nodeName) return "pending";
  if (isBeingUpdated(pod)) return "updating";
  return isReady(pod) ? "ready" : "starting";
}

export function isTerminating(pod: PodObject): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

export function conditionStatus(pod: PodObject, type: string): string | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type)?.status;
}

export function isReady(pod: PodObject): boolean {
  return !isTerminating(pod) && conditionStatus(pod, "Ready") === "True";
}

/** The manager took it out of service, or changed its image and the node has not followed yet. */
export function isBeingUpdated(pod: PodObject): boolean {
  if (conditionStatus(pod, "InPlaceUpdateReady") === "False") return true;
  const running = pod.status?.containerStatuses?.[0]?.image;
  return running !== undefined && running !== "" && running !== imageOf(pod);
}

export function imageOf(pod: PodObject): string {
  return pod.spec.containers[0]?.image ?? "";
}

/** Ready with this image, in the spec and on the node. */
export function runs(pod: PodObject, image: string): boolean {
  return isReady(pod) && imageOf(pod) === image && pod.status?.containerStatuses?.[0]?.image === image;
}

export function hasSucceeded(pod: PodObject): boolean {
  return pod.status?.phase === "Succeeded";
}

/** The first trace of an update towards `image` that others can see. */
export function isTouched(pod: PodObject, image: string): boolean {
  return (
    isTerminating(pod) || imageOf(pod) === image || conditionStatus(pod, "InPlaceUpdateReady") === "False"
  );
}
