/** What a stage's change does to a pod's run on its node. The only place that changes runs. */
import { formatTime } from "../../kube/core/index.ts";
import { logAnnotation, ofContainer } from "../annotations.ts";
import type { Container, ContainerTermination, PodObject } from "../objects/index.ts";
import type { Timing } from "../stages/profile.ts";
import type { Change, ExitCause } from "../stages/stage.ts";
import { endOf, missingProgram, postStartMs } from "./command.ts";
import {
  askedResources,
  exitText,
  invalidAnnotations,
  recordKey,
  restartOf,
  sameResources,
  type View,
} from "./facts.ts";
import { startNotBefore } from "./next_stage.ts";
import { metadataEnvironment } from "./node_agent.ts";
import { type ContainerRun, specOf } from "./pod_run.ts";

/** What the node must do besides: hand out an address, keep an image, write or delete objects, tell an event. */
export type Effect =
  | { readonly do: "keep image"; readonly image: string }
  | { readonly do: "record" }
  | { readonly do: "remove pod" }
  | {
      readonly do: "event";
      readonly type: "Normal" | "Warning";
      readonly reason: string;
      readonly message: string;
    };

interface Surroundings {
  readonly timing: Timing;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly newContainerId: () => string;
  readonly newAddress: (pod: PodObject) => string;
}

export function applyChange(
  view: View,
  change: Change,
  containerName: string | undefined,
  surroundings: Surroundings,
): Effect[] {
  const { run, pod } = view;
  const container = run.containers.find((candidate) => candidate.name === containerName);
  const spec = container && specOf(pod, container);
  switch (change.do) {
    case "admit":
      run.admitted = true;
      run.startedAt = surroundings.now;
      run.ip = surroundings.newAddress(pod);
      return [];
    case "record":
      run.recorded = recordKey(run);
      return [{ do: "record" }];
    case "report annotations":
      run.annotationsReported = invalidAnnotations(pod);
      return run.annotationsReported === ""
        ? []
        : [event("Warning", "InvalidAnnotation", run.annotationsReported)];
    case "report mounts":
      run.mountsReported = view.kubelet.missingVolume(pod) ?? "";
      return run.mountsReported === "" ? [] : [event("Warning", "FailedMount", run.mountsReported)];
    case "fail pod":
      run.failure = { reason: change.reason, message: change.message };
      return [];
    case "remove":
      run.removalAsked = true;
      return [{ do: "remove pod" }];
    default:
      return container && spec ? applyToContainer(view, change, container, spec, surroundings) : [];
  }
}

type ContainerChange = Exclude<
  Change,
  { do: "admit" | "record" | "report annotations" | "report mounts" | "fail pod" | "remove" }
>;

function applyToContainer(
  view: View,
  change: ContainerChange,
  container: ContainerRun,
  spec: Container,
  surroundings: Surroundings,
): Effect[] {
  switch (change.do) {
    case "pulled":
      container.pullBackOffMs = 0;
      container.pullNotBefore = 0;
      if (isAboutImage(container.waitingFor)) setWaiting(container, "", "");
      return [
        { do: "keep image", image: spec.image ?? "" },
        event("Normal", "Pulled", `Successfully pulled image "${spec.image}"`),
      ];
    case "pull failed":
      return pullFailed(container, spec, surroundings);
    case "wait":
      return wait(view, container, spec, change.reason);
    case "start":
      return start(view, container, spec, surroundings);
    case "set exit":
      setExit(view, container, spec, surroundings.now);
      return [];
    case "exit":
      return exit(view, container, spec, change.cause, surroundings);
    case "ready":
      container.ready = change.ready;
      return change.ready ? [] : probeFailed(container);
    case "probe failed":
      return probeFailed(container);
    case "hook over":
      container.hookUntil = 0;
      return [];
    case "resize":
      return resize(view, container, spec, surroundings);
    case "refuse resize": {
      const refusal = view.kubelet.resizeRefusal(view.pod);
      if (refusal) view.run.refusal = { asked: askedResources(view.pod), ...refusal };
      return [];
    }
  }
}

function event(type: "Normal" | "Warning", reason: string, message: string): Effect {
  return { do: "event", type, reason, message };
}

function probeFailed(container: ContainerRun): Effect[] {
  container.probeFailureReported = true;
  return [event("Warning", "Unhealthy", "Readiness probe failed")];
}

function isAboutImage(reason: string): boolean {
  return ["ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"].includes(reason);
}

function wait(view: View, container: ContainerRun, spec: Container, reason: string): Effect[] {
  setWaiting(container, reason, waitingMessage(view, container, spec, reason));
  return [event("Warning", waitingEvents[reason] ?? "Failed", container.waitingMessage)];
}

const waitingEvents: Readonly<Record<string, string>> = {
  ImagePullBackOff: "BackOff",
  InvalidImageName: "InspectFailed",
};

function setWaiting(container: ContainerRun, reason: string, message: string): void {
  container.waitingFor = reason;
  container.waitingMessage = message;
}

function waitingMessage(view: View, container: ContainerRun, spec: Container, reason: string): string {
  switch (reason) {
    case "ImagePullBackOff":
      return `Back-off pulling image "${spec.image}"`;
    case "ErrImageNeverPull":
      return `Container image "${spec.image}" is not present with pull policy of Never`;
    case "InvalidImageName":
      return `Failed to apply default image tag "${spec.image}": couldn't parse image name "${spec.image}": invalid reference format`;
    case "CreateContainerConfigError":
      return view.kubelet.missingConfig(view.pod, spec) ?? "";
    default:
      return container.waitingMessage;
  }
}

function pullFailed(container: ContainerRun, spec: Container, { timing, now }: Surroundings): Effect[] {
  const { firstMs, longestMs } = timing.backOff;
  container.pullBackOffMs = container.pullBackOffMs
    ? Math.min(longestMs, container.pullBackOffMs * 2)
    : firstMs;
  container.pullNotBefore = now + container.pullBackOffMs;
  const message = `failed to pull and unpack image "${spec.image}": failed to resolve reference "${spec.image}": not found`;
  setWaiting(container, "ErrImagePull", message);
  return [event("Warning", "Failed", `Failed to pull image "${spec.image}": ${message}`)];
}

function start(view: View, container: ContainerRun, spec: Container, surroundings: Surroundings): Effect[] {
  const { now, timing } = surroundings;
  const image = spec.image ?? "";
  if (container.state === "exited") {
    container.restarts += 1;
    const known = container.backOff.get(image);
    const again = startNotBefore(container, image, timing) > 0 && known;
    const ms = again ? Math.min(timing.backOff.longestMs, known.ms * 2) : timing.backOff.firstMs;
    container.backOff.set(image, { ms, at: now });
  }
  container.state = "running";
  container.startAnew = false;
  setWaiting(container, "", "");
  container.image = image;
  container.id = surroundings.newContainerId();
  container.startedAt = now;
  container.ready = false;
  container.probe = undefined;
  container.probeFailureReported = false;
  container.touched.clear();
  container.resources = spec.resources ?? {};
  container.environment = metadataEnvironment(view.pod, spec);
  setExit(view, container, spec, now);
  const hookMs = postStartMs(view.pod, spec);
  container.hookUntil = hookMs > 0 ? now + hookMs : 0;
  const missing = missingProgram(spec);
  return [
    event("Normal", "Created", `Created container: ${container.name}`),
    missing === undefined
      ? event("Normal", "Started", `Started container ${container.name}`)
      : event("Warning", "Failed", `Error: ${missing}`),
  ];
}

/** When and how the process ends by itself, counted from `now`. */
function setExit({ pod }: View, container: ContainerRun, spec: Container, now: number): void {
  const end = endOf(pod, spec, container.kind);
  container.endsAt = end && now + end.afterMs;
  container.endCode = end?.code ?? 0;
  container.exitText = exitText(pod, container);
}

function exit(
  view: View,
  container: ContainerRun,
  spec: Container,
  cause: ExitCause,
  { now, timing }: Surroundings,
): Effect[] {
  const code = cause === "ended" ? container.endCode : cause === "unhealthy" ? killedCode : 0;
  const missing = cause === "ended" ? missingProgram(spec) : undefined;
  const ended: ContainerTermination = {
    exitCode: code,
    reason: endReason(code, cause, missing),
    ...(missing === undefined ? {} : { message: missing }),
    startedAt: formatTime(container.startedAt),
    finishedAt: formatTime(now),
    containerID: container.id,
  };
  const log = ofContainer(view.pod.metadata, spec.name, logAnnotation);
  if (code !== 0 && log && spec.terminationMessagePolicy === "FallbackToLogsOnError") ended.message = log;
  container.endBefore = container.lastEnd;
  container.lastEnd = ended;
  container.state = "exited";
  container.exitCode = code;
  container.finishedAt = now;
  container.ready = false;
  container.endsAt = undefined;
  container.hookUntil = 0;
  container.startAnew = cause === "replaced" || cause === "restarted by agent";
  setWaiting(container, "", "");
  const effects = exitEvents(container, cause);
  if (cause === "recreated") {
    container.stoppedFor = container.stopAsked && { by: container.stopAsked.by, id: container.id };
    // The agent starts the container itself, whatever the kubelet holds back.
    container.backOff.delete(spec.image ?? "");
  }
  container.stopAsked = undefined;
  const again = cause !== "deleted" && restartOf(view.pod, container) === "wanted";
  if (again && startNotBefore(container, spec.image ?? "", timing) > now) {
    const seconds = Math.round((startNotBefore(container, spec.image ?? "", timing) - now) / 1_000);
    const message = `back-off ${seconds}s restarting failed container=${container.name} pod=${view.pod.metadata.name}`;
    setWaiting(container, "CrashLoopBackOff", message);
    effects.push(event("Warning", "BackOff", `Back-off restarting failed container ${container.name}`));
  }
  return effects;
}

/** Of a process that SIGKILL ended. */
const killedCode = 137;

function endReason(code: number, cause: ExitCause, missing: string | undefined): string {
  if (code === 0) return "Completed";
  if (missing !== undefined) return "StartError";
  return code === killedCode && cause === "ended" ? "OOMKilled" : "Error";
}

function exitEvents({ name, id, stopAsked }: ContainerRun, cause: ExitCause): Effect[] {
  if (cause === "ended") return [];
  const messages = {
    deleted: `Stopping container ${name}`,
    replaced: `Container ${name} definition changed, will be restarted`,
    recreated: stopAsked?.message ?? "",
    unhealthy: `Container ${name} failed liveness probe, will be restarted`,
    "restarted by agent": `Stopping containerID ${id} by container meta restarter`,
  };
  return [event("Normal", "Killing", messages[cause])];
}

function resize(view: View, container: ContainerRun, spec: Container, surroundings: Surroundings): Effect[] {
  view.run.refusal = undefined;
  const restarts = (spec.resizePolicy ?? []).some(
    (policy) =>
      policy.restartPolicy === "RestartContainer" &&
      touches(policy.resourceName, container.resources, spec.resources),
  );
  if (restarts) return exit(view, container, spec, "replaced", surroundings);
  container.resources = spec.resources ?? {};
  return [];
}

function touches(resource: string, before: Container["resources"], after: Container["resources"]): boolean {
  const only = (list: Container["resources"]) => ({
    limits: { value: list?.limits?.[resource] ?? "" },
    requests: { value: list?.requests?.[resource] ?? "" },
  });
  return !sameResources(only(before), only(after));
}
