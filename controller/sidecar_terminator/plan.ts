/**
 * When the sidecars of a job's pod are ended, and how. Pure. Spec: sidecarset, sidecar terminator.
 * A container with one of the variables below is a sidecar, all others are what the job is about.
 */
import { isConditionTrue } from "../../kube/core/index.ts";
import type { ObservedContainer, ObservedPod } from "../observed_pod.ts";

const END_VARIABLE = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT";
/** Image that ends at once: where no agent is that could stop a container, its image is replaced. */
const IMAGE_VARIABLE = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT_WITH_IMAGE";
/** The pod's result is told before these sidecars are ended, so that their exit codes change nothing. */
const IGNORE_VARIABLE = "KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE";

export const TERMINATED_CONDITION = "SidecarTerminated";
export const TERMINATED_MESSAGE = "Terminated by Sidecar Terminator";

export type Termination =
  | { readonly by: "nothing" }
  /** In the pod's spec: container -> image. */
  | { readonly by: "images"; readonly images: ReadonlyMap<string, string> }
  | {
      readonly by: "request";
      /** Name of the ContainerRecreateRequest. */
      readonly name: string;
      readonly containers: readonly string[];
      /** What the pod's phase becomes before. */
      readonly phase?: "Succeeded" | "Failed";
    };

const nothing: Termination = { by: "nothing" };

/** Whether the pod has sidecars that are still to be ended, now or later. */
export function hasSidecarsToEnd(pod: ObservedPod): boolean {
  if (pod.deleting || pod.restartPolicy === "Always") return false;
  const sidecars = pod.containers.filter(isSidecar);
  return (
    sidecars.length > 0 && sidecars.length < pod.containers.length && unfinished(pod, sidecars).length > 0
  );
}

export function planTermination(pod: ObservedPod, node: { readonly virtual: boolean }): Termination {
  if (!hasSidecarsToEnd(pod) || pod.phase === "" || pod.phase === "Pending" || !mainsEnded(pod))
    return nothing;
  if (node.virtual) return imagesFor(pod);
  const ended = isConditionTrue(pod.conditions, TERMINATED_CONDITION);
  // A pod that came to its end by other means is ended as a whole.
  if ((pod.phase === "Succeeded" || pod.phase === "Failed") && !ended) return nothing;
  const own = pod.containers.filter(isEndedByRequest);
  const counting = unfinished(
    pod,
    own.filter((container) => !ignoresCode(container)),
  );
  if (counting.length > 0) return { by: "request", name: requestName(pod), containers: counting };
  const ignored = unfinished(pod, own.filter(ignoresCode));
  if (ignored.length === 0) return nothing;
  const isSecond = own.length > own.filter(ignoresCode).length;
  const phase = mainsOf(pod).every(({ exitCode }) => exitCode === 0) ? "Succeeded" : "Failed";
  return {
    by: "request",
    // Where others were ended by a request of the usual name, it is used up.
    name: isSecond ? `${requestName(pod)}-ignored` : requestName(pod),
    containers: ignored,
    ...(ended ? {} : { phase }),
  };
}

function requestName(pod: { readonly uid: string }): string {
  return `sidecar-termination-${pod.uid}`;
}

/** Every container has a status, and the job's own are over: well, where they would be started again otherwise. */
function mainsEnded(pod: ObservedPod): boolean {
  if (pod.containers.some(({ name }) => pod.runs.every((run) => run.name !== name))) return false;
  return mainsOf(pod).every(({ exitCode }) =>
    pod.restartPolicy === "Never" ? exitCode !== undefined : exitCode === 0,
  );
}

function mainsOf(pod: ObservedPod): readonly { readonly exitCode?: number }[] {
  const sidecars = new Set(pod.containers.filter(isSidecar).map(({ name }) => name));
  return pod.runs.filter(({ name }) => !sidecars.has(name));
}

function imagesFor(pod: ObservedPod): Termination {
  const images = new Map<string, string>();
  for (const { name, env, image } of pod.containers) {
    const wanted = env[IMAGE_VARIABLE] ?? "";
    if (wanted !== "" && wanted !== image) images.set(name, wanted);
  }
  return images.size === 0 ? nothing : { by: "images", images };
}

function unfinished(pod: ObservedPod, containers: readonly ObservedContainer[]): string[] {
  const over = new Set(pod.runs.filter(({ exitCode }) => exitCode !== undefined).map(({ name }) => name));
  return containers.map(({ name }) => name).filter((name) => !over.has(name));
}

function isSidecar(container: ObservedContainer): boolean {
  return isEndedByRequest(container) || (container.env[IMAGE_VARIABLE] ?? "") !== "";
}

function isEndedByRequest({ env }: ObservedContainer): boolean {
  return isTrue(env[END_VARIABLE]);
}

function ignoresCode({ env }: ObservedContainer): boolean {
  return isTrue(env[IGNORE_VARIABLE]);
}

function isTrue(value: string | undefined): boolean {
  return value?.toLowerCase() === "true";
}
