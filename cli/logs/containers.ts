/** Which containers of a pod are followed, and which run of each has a log. Pure. */
import { type AnyObject, at, listAt, textAt } from "../fields.ts";

/** Of kubectl: the container that is meant when none is named. */
const defaultAnnotation = "kubectl.kubernetes.io/default-container";

/** A container from a start to its end. */
export interface Run {
  /** Of this run alone, among all pods. */
  readonly id: string;
  readonly isRunning: boolean;
  /** The one before it, whose log is kept beside; undefined where there was none. */
  readonly previousId: string | undefined;
}

/** One by its name, or all; neither: the one that kubectl takes. */
export interface ContainerChoice {
  readonly name?: string | undefined;
  readonly all?: boolean;
}

/** Names; none where the pod has no such container. */
export function followedContainers(pod: AnyObject, wanted: ContainerChoice): readonly string[] {
  const plain = namesAt(pod, "containers");
  const all = [...namesAt(pod, "initContainers"), ...plain, ...namesAt(pod, "ephemeralContainers")];
  if (wanted.all === true) return all;
  const marked = textAt(pod, "metadata", "annotations", defaultAnnotation);
  const name = wanted.name ?? (marked !== undefined && all.includes(marked) ? marked : plain[0]);
  return all.filter((candidate) => candidate === name);
}

function namesAt(pod: AnyObject, list: string): readonly string[] {
  return listAt(pod, "spec", list).flatMap((container) => textAt(container, "name") ?? []);
}

const statusLists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];

/** The newest run that has begun; undefined before the first one. */
export function newestRun(pod: AnyObject, container: string): Run | undefined {
  const status = statusLists
    .flatMap((list) => listAt(pod, "status", list))
    .find((candidate) => textAt(candidate, "name") === container);
  const idOf = (id: string | undefined): string => `${pod.metadata.uid ?? ""}/${id ?? ""}`;
  const ended = (state: string): string | undefined =>
    at(status, state, "terminated") === undefined
      ? undefined
      : idOf(textAt(status, state, "terminated", "containerID"));
  const last = ended("lastState");
  if (at(status, "state", "running") !== undefined)
    return { id: idOf(textAt(status, "containerID")), isRunning: true, previousId: last };
  const id = ended("state");
  if (id !== undefined) return { id, isRunning: false, previousId: last };
  return last === undefined ? undefined : { id: last, isRunning: false, previousId: undefined };
}
