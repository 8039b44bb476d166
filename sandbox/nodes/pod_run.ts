/** What a simulated node knows about a pod beyond the API: its containers as a runtime would hold them. Plain data. */
import type {
  Container,
  ContainerStatus,
  ContainerTermination,
  PodObject,
  ResourceList,
} from "../objects/index.ts";
import { timeOf } from "../objects/index.ts";

export type ContainerKind = "init" | "sidecar" | "main" | "ephemeral";

export interface EnvEntry {
  readonly name: string;
  readonly value: string;
}

export interface ContainerRun {
  readonly name: string;
  readonly kind: ContainerKind;
  state: "waiting" | "running" | "exited";
  /** Reason shown while it does not run; empty: `ContainerCreating`, or the end of the last run. */
  waitingFor: string;
  waitingMessage: string;
  /** The spec's image that the present or last container was made from; empty before the first. */
  image: string;
  id: string;
  restarts: number;
  startedAt: number;
  exitCode: number;
  finishedAt: number;
  /** Ends of the newest run and of the one before, as the API shows them. */
  lastEnd: ContainerTermination | undefined;
  endBefore: ContainerTermination | undefined;
  /** Milliseconds since the epoch at which the process ends by itself. */
  endsAt: number | undefined;
  endCode: number;
  /** The annotation about its end that is in force. */
  exitText: string | undefined;
  ready: boolean;
  /** Whether the present container's failing probe has its event. */
  probeFailureReported: boolean;
  /** End of the postStart hook; 0 when none is running. */
  hookUntil: number;
  /** It was stopped to be made again, whatever the restart policy says. */
  startAnew: boolean;
  /** The order of a ContainerRecreateRequest, by its UID, to stop the running container. */
  stopAsked: { readonly by: string; readonly message: string; readonly graceSeconds: number } | undefined;
  /** UID of the ContainerRecreateRequest for which it was stopped last, and what its id was then. */
  stoppedFor: { readonly by: string; readonly id: string } | undefined;
  /** Image -> back-off of the kubelet for starting it again after an exit. */
  readonly backOff: Map<string, { ms: number; at: number }>;
  pullBackOffMs: number;
  pullNotBefore: number;
  resources: ResourceList | undefined;
  /** The variables that come from labels and annotations, as of the start; undefined before it. */
  environment: readonly EnvEntry[] | undefined;
  /** Overrides of tests: a probe that passes or fails, files made from outside. */
  probe: boolean | undefined;
  readonly touched: Set<string>;
}

export interface Due {
  readonly key: string;
  readonly at: number;
}

export interface PodRun {
  admitted: boolean;
  ip: string;
  startedAt: number;
  readonly containers: ContainerRun[];
  /** Stages under way: their times were drawn when they began to match. */
  due: readonly Due[];
  /** Set when the node gave up on the pod. */
  failure: { reason: string; message: string } | undefined;
  /** A resize that the node refused: what was asked (JSON) and what the kubelet says of it. */
  refusal: { asked: string; reason: "Infeasible" | "Deferred"; message: string } | undefined;
  /** The pod object's removal was asked for; finalizers may still hold it. */
  removalAsked: boolean;
  /** The containers that the node agent recorded last, as `recordKey` has them. */
  recorded: string;
  /** What was last said about annotations that are not understood. */
  annotationsReported: string;
  /** What was last said about volumes that cannot be mounted. */
  mountsReported: string;
}

/** A run for a pod that the node sees for the first time; containers that its status shows running are taken over. */
export function newRun(pod: PodObject): PodRun {
  const containers: ContainerRun[] = [];
  for (const container of pod.spec.initContainers ?? []) {
    const kind = container.restartPolicy === "Always" ? "sidecar" : "init";
    containers.push(
      newContainer(container, kind, statusIn(pod.status?.initContainerStatuses, container.name)),
    );
  }
  for (const container of pod.spec.containers) {
    containers.push(newContainer(container, "main", statusIn(pod.status?.containerStatuses, container.name)));
  }
  const run: PodRun = {
    admitted: pod.status?.startTime !== undefined && pod.status.podIP !== undefined,
    ip: pod.status?.podIP ?? "",
    startedAt: timeOf(pod.status?.startTime) ?? 0,
    containers,
    due: [],
    failure: undefined,
    refusal: undefined,
    removalAsked: false,
    recorded: "",
    annotationsReported: "",
    mountsReported: "",
  };
  takeUpEphemeral(pod, run);
  return run;
}

/** Ephemeral containers are the only ones that join a pod later. */
export function takeUpEphemeral(pod: PodObject, run: PodRun): void {
  for (const container of pod.spec.ephemeralContainers ?? []) {
    if (run.containers.some((known) => known.kind === "ephemeral" && known.name === container.name)) continue;
    const status = statusIn(pod.status?.ephemeralContainerStatuses, container.name);
    run.containers.push(newContainer(container, "ephemeral", status));
  }
}

function statusIn(
  statuses: readonly ContainerStatus[] | undefined,
  name: string,
): ContainerStatus | undefined {
  return statuses?.find((status) => status.name === name);
}

function newContainer(
  container: Container,
  kind: ContainerKind,
  status: ContainerStatus | undefined,
): ContainerRun {
  const { running, terminated } = status?.state ?? {};
  const ended = terminated ?? status?.lastState?.terminated;
  const state = running ? "running" : terminated ? "exited" : "waiting";
  return {
    name: container.name,
    kind,
    state,
    waitingFor: "",
    waitingMessage: "",
    image: status?.containerID ? status.image : "",
    id: status?.containerID ?? "",
    restarts: status?.restartCount ?? 0,
    startedAt: timeOf(running?.startedAt) ?? 0,
    exitCode: ended?.exitCode ?? 0,
    finishedAt: timeOf(ended?.finishedAt) ?? 0,
    lastEnd: ended,
    endBefore: undefined,
    endsAt: undefined,
    endCode: 0,
    exitText: undefined,
    ready: status?.ready ?? false,
    probeFailureReported: false,
    hookUntil: 0,
    startAnew: false,
    stopAsked: undefined,
    stoppedFor: undefined,
    backOff: new Map(),
    pullBackOffMs: 0,
    pullNotBefore: 0,
    resources: status?.resources,
    environment: undefined,
    probe: undefined,
    touched: new Set(),
  };
}

/** The spec entry of a container run; containers never leave a pod's spec. */
export function specOf(pod: PodObject, run: ContainerRun): Container | undefined {
  const list = listOf(pod, run.kind);
  return list?.find((container) => container.name === run.name);
}

function listOf(pod: PodObject, kind: ContainerKind): readonly Container[] | undefined {
  if (kind === "main") return pod.spec.containers;
  return kind === "ephemeral" ? pod.spec.ephemeralContainers : pod.spec.initContainers;
}
