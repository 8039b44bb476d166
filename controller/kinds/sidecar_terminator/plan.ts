/**
 * When the sidecars of a job's pod are ended, and how. Pure. Spec: sidecarset, sidecar terminator.
 * A container with one of the variables below is a sidecar, all others are what the job is about.
 */
import { notAhead, timeOf } from "../../../kube/core/index.ts";
import type { ObservedContainer, ObservedPod } from "../../native/observed_pod.ts";

const END_VARIABLE = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT";
/** Image that ends at once: where no agent is that could stop a container, its image is replaced. */
const IMAGE_VARIABLE = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT_WITH_IMAGE";
/** The pod's result is reported before these sidecars are ended, so that their exit codes change nothing. */
const IGNORE_VARIABLE = "KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE";

export const TERMINATED_CONDITION = "SidecarTerminated";
export const TERMINATED_MESSAGE = "Terminated by Sidecar Terminator";

/**
 * Written along with the result, the time of it. A kubelet looks at a pod again only when more than the status differs;
 * from a phase alone it sets that back to its own one within 10 s, and makes its own result of the exit codes.
 */
export const RESULT_ANNOTATION = "refit.dev/result-told-at";
/**
 * How long the kubelet has to take up a reported result. Whoever plays the kubelet without its conditions is not
 * waited for any longer.
 */
const RESULT_MS = 10_000;
/** Reasons of the kubelet's `ContainersReady` once a pod's phase is a last one. */
const RESULT_TAKEN = new Set(["PodCompleted", "PodFailed"]);

export type Termination =
  | { readonly by: "nothing"; readonly requeueAfterMs?: number }
  /** In the pod's spec: container -> image. */
  | { readonly by: "images"; readonly images: ReadonlyMap<string, string> }
  | {
      readonly by: "request";
      /** Name of the ContainerRecreateRequest. */
      readonly name: string;
      readonly containers: readonly string[];
    }
  /** Of a pod whose sidecars end by a request, of that `name`, next. */
  | { readonly by: "result"; readonly name: string; readonly phase: "Succeeded" | "Failed" };

const nothing: Termination = { by: "nothing" };

/** Whether the pod has sidecars that are still to be ended, now or later. */
export function hasSidecarsToEnd(pod: ObservedPod): boolean {
  if (pod.deleting || pod.restartPolicy === "Always") return false;
  const sidecars = pod.containers.filter(isSidecar);
  return (
    sidecars.length > 0 && sidecars.length < pod.containers.length && unfinished(pod, sidecars).length > 0
  );
}

export function planTermination(
  pod: ObservedPod,
  { virtual, now }: { readonly virtual: boolean; readonly now: number },
): Termination {
  if (!hasSidecarsToEnd(pod) || pod.phase === "" || pod.phase === "Pending" || !mainsEnded(pod))
    return nothing;
  if (virtual) return imagesFor(pod);
  const reported = pod.conditions.find(
    ({ type, status }) => type === TERMINATED_CONDITION && status === "True",
  );
  const finished = pod.phase === "Succeeded" || pod.phase === "Failed";
  // A pod that came to its end by other means is ended as a whole.
  if (finished && reported === undefined) return nothing;
  const own = pod.containers.filter(isEndedByRequest);
  const counting = unfinished(
    pod,
    own.filter((container) => !ignoresCode(container)),
  );
  if (counting.length > 0) return { by: "request", name: requestName(pod), containers: counting };
  const ignored = unfinished(pod, own.filter(ignoresCode));
  if (ignored.length === 0) return nothing;
  const isSecond = own.length > own.filter(ignoresCode).length;
  // Where others were ended by a request of the usual name, it is used up.
  const name = isSecond ? `${requestName(pod)}-ignored` : requestName(pod);
  // A status that the kubelet had under way may have set the result back.
  if (!finished || reported === undefined || isToldAhead(reported, now)) {
    const phase = mainsOf(pod).every(({ exitCode }) => exitCode === 0) ? "Succeeded" : "Failed";
    return { by: "result", name, phase };
  }
  const leftMs = isResultTaken(pod) ? 0 : (timeOf(reported.lastTransitionTime) ?? 0) + RESULT_MS - now;
  return leftMs > 0
    ? { by: "nothing", requeueAfterMs: leftMs }
    : { by: "request", name, containers: ignored };
}

/** It is told again: the time that the kubelet has for it counts from then. */
function isToldAhead({ lastTransitionTime }: { readonly lastTransitionTime: string }, now: number): boolean {
  return notAhead(lastTransitionTime, now) !== lastTransitionTime;
}

function isResultTaken({ conditions }: ObservedPod): boolean {
  return conditions.some(({ type, reason }) => type === "ContainersReady" && RESULT_TAKEN.has(reason));
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
  const running = new Set(unfinished(pod, pod.containers));
  for (const { name, env, image } of pod.containers) {
    const wanted = env[IMAGE_VARIABLE] ?? "";
    if (running.has(name) && wanted !== "" && wanted !== image) images.set(name, wanted);
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
