/** What is true of a pod on a simulated node right now, in the words that stages ask in. */
import { findCondition, jsonEqual } from "../../kube/core/index.ts";
import {
  annotationErrors,
  exitAnnotation,
  ofContainer,
  pullAnnotation,
  textOfContainer,
} from "../annotations.ts";
import type { Container, PodObject, ResourceList } from "../objects/index.ts";
import type { Facts } from "../stages/stage.ts";
import { livenessFails, probePassesMs } from "./command.ts";
import { isImageName } from "./known_images.ts";
import { isLookedAfter, metadataEnvironment } from "./node_agent.ts";
import { type ContainerRun, type PodRun, specOf } from "./pod_run.ts";

/** What the kubelet of a pod knows: of its node and of the cluster. */
export interface Kubelet {
  hasImage(image: string): boolean;
  pullFails(image: string): boolean;
  /** Milliseconds that this image takes to pull; undefined: as the profile says. */
  pullMs(image: string): number | undefined;
  /** The kubelet's words when environment refers to something that is not there. */
  missingConfig(pod: PodObject, container: Container): string | undefined;
  /** The kubelet's words when a volume cannot be mounted yet. */
  missingVolume(pod: PodObject): string | undefined;
  /** Whether the node can give the pod what its spec asks now. */
  resizeRefusal(pod: PodObject): { reason: "Infeasible" | "Deferred"; message: string } | undefined;
  /** Whether a node agent runs beside the kubelet. */
  readonly agent: boolean;
}

export interface View {
  readonly pod: PodObject;
  readonly run: PodRun;
  readonly kubelet: Kubelet;
}

export type PodFacts = Pick<
  Facts,
  "pod" | "containers" | "deadline" | "gate" | "record" | "removal" | "annotations" | "mounts"
>;

export function podFacts(view: View): PodFacts {
  const { pod, run, kubelet } = view;
  const running = run.containers.some((container) => container.state === "running");
  const gate = findCondition(pod.status?.conditions, "InPlaceUpdateReady")?.status === "False";
  return {
    pod: podStage(view, running),
    containers: running ? "running" : "stopped",
    deadline: pod.spec.activeDeadlineSeconds === undefined ? "none" : "set",
    removal: run.removalAsked ? "asked" : "open",
    gate: gate ? "closed" : "open",
    record: kubelet.agent && isRecordStale(run) ? "stale" : "current",
    annotations: invalidAnnotations(pod) === run.annotationsReported ? "reported" : "invalid",
    mounts: running ? "complete" : mountsFact(view),
  };
}

function mountsFact({ pod, run, kubelet }: View): Facts["mounts"] {
  const missing = kubelet.missingVolume(pod);
  if (missing === undefined) return "complete";
  return missing === run.mountsReported ? "reported" : "failing";
}

/** What is wrong with the annotations by which things are broken, as one text; empty when nothing is. */
export function invalidAnnotations(pod: PodObject): string {
  return annotationErrors(pod.metadata, "container").join("; ");
}

/** The text of the annotation that says when a container's process ends. */
export function exitText(pod: PodObject, run: ContainerRun): string | undefined {
  return textOfContainer(pod.metadata.annotations, run.name, exitAnnotation.name);
}

/** The containers that a record describes: name and id of each, in the order of the spec. */
export function recordKey(run: PodRun): string {
  const known = run.containers.filter((container) => container.kind === "main" && container.id !== "");
  return known.map((container) => `${container.name}=${container.id}`).join(",");
}

function isRecordStale(run: PodRun): boolean {
  const mains = run.containers.filter((container) => container.kind === "main");
  const inTransition = mains.some((container) => container.state === "exited");
  return !inTransition && recordKey(run) !== run.recorded;
}

function podStage(view: View, running: boolean): Facts["pod"] {
  const { pod, run } = view;
  if (pod.metadata.deletionTimestamp !== undefined) return "terminating";
  const over = run.failure !== undefined || isTerminal(pod.status?.phase) || workIsDone(pod, run);
  if (over) return running ? "ending" : "finished";
  return run.admitted ? "living" : "new";
}

function isTerminal(phase: string | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/** All main containers ended for good, or an init container failed for good. */
export function workIsDone(pod: PodObject, run: PodRun): boolean {
  if ((pod.spec.restartPolicy ?? "Always") === "Always") return false;
  let mains = 0;
  for (const container of run.containers) {
    if (container.kind === "init" && container.state === "exited" && container.exitCode !== 0) {
      if (pod.spec.restartPolicy === "Never") return true;
    }
    if (container.kind !== "main") continue;
    mains += 1;
    if (container.state !== "exited" || restartOf(pod, container) === "wanted") return false;
  }
  return mains > 0;
}

export function restartOf(pod: PodObject, run: ContainerRun): Facts["restart"] {
  if (run.state === "waiting" || run.startAnew) return "wanted";
  if (run.kind === "sidecar") return "wanted";
  if (run.kind === "ephemeral") return "unwanted";
  const policy = pod.spec.restartPolicy ?? "Always";
  if (run.kind === "init") return run.exitCode !== 0 && policy !== "Never" ? "wanted" : "unwanted";
  if (policy === "Always") return "wanted";
  return policy === "OnFailure" && run.exitCode !== 0 ? "wanted" : "unwanted";
}

export function containerFacts(view: View, shared: PodFacts, index: number): Facts | undefined {
  const { pod, run, kubelet } = view;
  const container = run.containers[index];
  const spec = container && specOf(pod, container);
  if (!container || !spec) return undefined;
  const running = container.state === "running";
  const image = spec.image ?? "";
  return {
    ...shared,
    state: container.state,
    turn: running || hasTurn(run.containers, index) ? "yes" : "no",
    restart: running ? "unwanted" : restartOf(pod, container),
    image: running ? "present" : imageFact(kubelet, pod, spec),
    config: running || kubelet.missingConfig(pod, spec) === undefined ? "complete" : "missing",
    volumes: running || kubelet.missingVolume(pod) === undefined ? "complete" : "missing",
    made: container.image === image ? "as specified" : "differently",
    ends: container.endsAt === undefined ? "never" : "itself",
    exit: running && exitText(pod, container) !== container.exitText ? "changed" : "current",
    ready: container.ready ? "yes" : "no",
    probe: running && probePasses(pod, spec, container) ? "passes" : "fails",
    probeFailure: container.probeFailureReported ? "reported" : "new",
    liveness: running && livenessFails(pod, spec, container.touched) ? "fails" : "passes",
    hook: container.hookUntil > 0 ? "running" : "over",
    waitingFor: container.waitingFor,
    ...resizeFacts(view, container, spec, running),
    recreation: running && container.stopAsked !== undefined ? "asked" : "none",
    environment: kubelet.agent && running && isEnvironmentStale(pod, container, spec) ? "stale" : "current",
  };
}

function imageFact(kubelet: Kubelet, pod: PodObject, spec: Container): Facts["image"] {
  const image = spec.image ?? "";
  if (!isImageName(image)) return "misnamed";
  if (spec.imagePullPolicy === "Never") return kubelet.hasImage(image) ? "present" : "never";
  if (kubelet.hasImage(image) && spec.imagePullPolicy !== "Always") return "present";
  if (ofContainer(pod.metadata, spec.name, pullAnnotation)?.fails ?? kubelet.pullFails(image))
    return "failing";
  return kubelet.hasImage(image) ? "present" : "missing";
}

function hasTurn(containers: readonly ContainerRun[], index: number): boolean {
  for (const [at, other] of containers.entries()) {
    if (at === index) continue;
    const isMain = containers[index]?.kind === "main" || containers[index]?.kind === "ephemeral";
    if (other.kind === "init" && (isMain || at < index)) {
      if (other.state !== "exited" || other.exitCode !== 0) return false;
    } else if (other.kind === "sidecar" && (isMain || at < index)) {
      if (other.state !== "running" || other.hookUntil > 0) return false;
    } else if (at < index && other.hookUntil > 0) {
      return false;
    }
  }
  return true;
}

function probePasses(pod: PodObject, spec: Container, run: ContainerRun): boolean {
  return run.probe ?? probePassesMs(pod, spec, run.touched) !== undefined;
}

function resizeFacts(
  view: View,
  run: ContainerRun,
  spec: Container,
  running: boolean,
): Pick<Facts, "resources" | "refusal"> {
  if (!running || sameResources(run.resources, spec.resources))
    return { resources: "applied", refusal: "reported" };
  const refusal = view.kubelet.resizeRefusal(view.pod);
  if (!refusal) return { resources: "feasible", refusal: "reported" };
  const reported =
    view.run.refusal?.asked === askedResources(view.pod) && view.run.refusal.reason === refusal.reason;
  return {
    resources: refusal.reason === "Infeasible" ? "infeasible" : "deferred",
    refusal: reported ? "reported" : "new",
  };
}

/** Identifies what a pod asks for, so that a refusal is reported once. */
export function askedResources(pod: PodObject): string {
  return JSON.stringify(pod.spec.containers.map((container) => container.resources ?? {}));
}

export function sameResources(left: ResourceList | undefined, right: ResourceList | undefined): boolean {
  if (left === right) return true;
  return (
    jsonEqual(left?.limits ?? {}, right?.limits ?? {}) &&
    jsonEqual(left?.requests ?? {}, right?.requests ?? {})
  );
}

function isEnvironmentStale(pod: PodObject, run: ContainerRun, spec: Container): boolean {
  const { environment } = run;
  return (
    environment !== undefined && !jsonEqual(environment, metadataEnvironment(pod, spec)) && isLookedAfter(pod)
  );
}
