/** Whether sidecars run what the pod's spec says. Spec: sidecarset, rules 31 and 32. */
import {
  parseSidecarsBeforeUpdate,
  type SidecarsBeforeUpdate,
  sidecarInPlaceStateAnnotation,
} from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { runtimeHashesMatch } from "./completion.ts";
import { imageName, isDigest, runsDigest } from "./running_image.ts";

/** The containers of these names run their images, and the node has reported on every container of the pod. */
export function isConsistent(
  pod: Pod,
  containers: readonly string[],
  before: SidecarsBeforeUpdate | undefined,
): boolean {
  if (pod.containers.length !== pod.containerStatuses.length) return false;
  return areUpdated(pod, containers, before);
}

/** A container is ready with another image than its spec's: what it was updated to is still to be started. */
export function isSettling(
  pod: Pod,
  containers: readonly string[],
  before: SidecarsBeforeUpdate | undefined,
): boolean {
  return containers.some((name) => {
    const status = pod.containerStatuses.find((each) => each.name === name);
    return status?.ready === true && !areUpdated(pod, [name], before);
  });
}

/** The same of every container that any SidecarSet has updated in the pod. */
export function areSidecarsUpdated(pod: Pod): boolean {
  const states = parseSidecarsBeforeUpdate(pod.annotations[sidecarInPlaceStateAnnotation]);
  for (const state of states?.values() ?? [])
    if (!areUpdated(pod, [...state.lastContainerStatuses.keys()], state)) return false;
  return true;
}

/**
 * What a node tells that has not seen the present spec is about an earlier one. Else by what its agent says of all
 * containers, which tells two tags of one image apart; by digest where every image has one;
 * by what was running before the update where not.
 */
export function areUpdated(
  pod: Pod,
  containers: readonly string[],
  before: Pick<SidecarsBeforeUpdate, "lastContainerStatuses"> | undefined,
): boolean {
  if (pod.behind && before !== undefined) return false;
  if (runtimeHashesMatch(pod)) return true;
  const named = pod.containers.filter(({ name }) => containers.includes(name));
  const statusOf = (name: string) => pod.containerStatuses.find((status) => status.name === name);
  if (named.length > 0 && named.every(({ image }) => isDigest(image)))
    return named.every(({ name, image }) => runsDigest(image, statusOf(name)?.imageID ?? ""));
  return named.every(({ name, image }) => {
    const status = statusOf(name);
    const recorded = before?.lastContainerStatuses.get(name);
    if (status === undefined || recorded === undefined) return true;
    return status.imageID !== recorded.imageID || imageName(status.image) === imageName(image);
  });
}
