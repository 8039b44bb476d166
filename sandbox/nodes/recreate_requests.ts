/** Carries out ContainerRecreateRequests on simulated containers, as `planRestart` decides. */
import type { ContainerRecreateRequest, ContainerRecreateRequestStatus } from "../../crds/index.ts";
import { type Clock, jsonEqual } from "../../kube/core/index.ts";
import {
  HeldSince,
  isOver,
  pickRequest,
  planRestart,
  podNameOf,
  type RestartSeen,
  type RuntimeContainer,
  requestLabels,
  restartStatus,
  splitContainerID,
  stopTerms,
  unacknowledged,
  unreadablePart,
} from "../../node/index.ts";
import { type Agenda, createAgenda, type Next } from "../agenda.ts";
import type { Cluster, ClusterChange, StoredObject } from "../cluster.ts";
import { isPod, type PodObject } from "../objects/index.ts";
import { followKind } from "./followed_kind.ts";
import type { HollowNodes } from "./hollow_nodes.ts";
import type { ContainerRun, PodRun } from "./pod_run.ts";

const resource = "containerrecreaterequests.apps.kruise.io";

interface RecreateRequestsOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly nodes: Pick<HollowNodes, "node" | "runOf" | "withContainer">;
  readonly onError: (error: unknown, key: string) => void;
}

type Request = StoredObject & ContainerRecreateRequest;

export class RecreateRequests {
  readonly #options: RecreateRequestsOptions;
  readonly #agenda: Agenda;
  /** Pod as `namespace/name` -> names of the requests that are to be carried out. */
  readonly #active = new Map<string, Set<string>>();
  readonly #held = new HeldSince();
  readonly #unsubscribe: () => void;

  constructor(options: RecreateRequestsOptions) {
    this.#options = options;
    const { cluster, clock, onError } = options;
    this.#agenda = createAgenda({ clock, onError, run: (podKey) => this.#work(podKey) });
    this.#unsubscribe = followKind(cluster, resource, (change) => this.#requestChanged(change));
  }

  podChanged(namespace: string, name: string): void {
    const podKey = `${namespace}/${name}`;
    if (this.#active.has(podKey)) this.#agenda.add(podKey);
  }

  stop(): void {
    this.#unsubscribe();
    this.#agenda.stop();
  }

  #requestChanged({ type, object }: ClusterChange): void {
    if (!isRequest(object)) return;
    const podKey = `${object.metadata.namespace}/${podNameOf(object)}`;
    const names = this.#active.get(podKey) ?? new Set();
    const name = object.metadata.name ?? "";
    if (type !== "DELETED" && (this.#isActive(object) || this.#isStopping(object)))
      this.#active.set(podKey, names.add(name));
    else names.delete(name);
    if (names.size > 0) this.#agenda.add(podKey);
    else {
      this.#active.delete(podKey);
      this.#held.forget(podKey);
    }
  }

  #isActive(request: Request): boolean {
    const { labels = {}, deletionTimestamp } = request.metadata;
    return (
      labels[requestLabels.active] === "true" &&
      deletionTimestamp === undefined &&
      !isOver(request) &&
      this.#options.nodes.node(nodeOf(request)) !== undefined
    );
  }

  /** The controller has ended it while its agent stops a container. */
  #isStopping(request: Request): boolean {
    const run = this.#options.nodes.runOf(podUidOf(request));
    const { uid } = request.metadata;
    return isOver(request) && (run?.containers.some(({ stopAsked }) => stopAsked?.by === uid) ?? false);
  }

  #work(podKey: string): Next {
    const { cluster, clock, nodes } = this.#options;
    const [namespace = "", podName = ""] = podKey.split("/");
    const known = [...(this.#active.get(podKey) ?? [])]
      .map((name) => cluster.get(resource, { namespace, name }))
      .filter((request) => request !== undefined)
      .filter(isRequest);
    const pod = cluster.get("pods", { namespace, name: podName });
    for (const request of known) if (isOver(request)) this.#tellEnd(request, podKey, pod);
    const request = pickRequest(known);
    if (request === undefined || !nodes.node(nodeOf(request))?.alive) return undefined;
    for (const other of unacknowledged(known, request)) this.#write(other, { phase: "Pending" });
    const now = clock.now();
    const unreadable = unreadablePart(request);
    if (unreadable !== undefined) {
      const completed = { message: `the request cannot be carried out: ${unreadable}` };
      this.#write(request, restartStatus({ states: [], completed }, now));
      return undefined;
    }
    const seen = this.#seen(request, pod, this.#held.of(podKey, request, now));
    if (seen === undefined) return undefined;
    const plan = planRestart(seen, now);
    if (plan.kill !== undefined) this.#stop(request, plan.kill);
    this.#write(request, restartStatus(plan, now));
    return plan.wakeAfterMs;
  }

  /** Undefined when the pod is not the one that is meant, or not on a simulated node. */
  #seen(
    request: Request,
    pod: StoredObject | undefined,
    heldSince: number | undefined,
  ): RestartSeen | undefined {
    const run = this.#options.nodes.runOf(podUidOf(request));
    if (run === undefined || !isPod(pod) || pod.metadata.uid !== podUidOf(request)) return undefined;
    return restartSeen(request, pod, run, heldSince);
  }

  /** What was done is still told; the phase stays. */
  #tellEnd(request: Request, podKey: string, pod: StoredObject | undefined): void {
    if (this.#isStopping(request)) return;
    this.#active.get(podKey)?.delete(request.metadata.name ?? "");
    const seen = this.#seen(request, pod, undefined);
    if (seen === undefined) return;
    const { states } = planRestart(seen, this.#options.clock.now());
    this.#write(request, { containerRecreateStates: [...states] });
  }

  #stop(request: Request, name: string): void {
    this.#options.nodes.withContainer(podUidOf(request), name, (container) => {
      container.stopAsked ??= { by: request.metadata.uid ?? "", ...stopTerms(request, name) };
    });
  }

  #write({ metadata }: Request, status: Partial<ContainerRecreateRequestStatus>): void {
    const { namespace = "", name = "", uid } = metadata;
    this.#options.cluster.update(resource, { namespace, name }, (draft) => {
      if (draft.metadata.uid !== uid || !isRequest(draft)) return;
      const next: ContainerRecreateRequestStatus = { phase: "Pending", ...draft.status, ...status };
      if (!jsonEqual(draft.status, next)) draft.status = next;
    });
  }
}

const runtimeName = "sandbox";

function restartSeen(
  request: Request,
  pod: PodObject,
  run: PodRun,
  heldSince: number | undefined,
): RestartSeen {
  const made = run.containers.filter(({ kind, id }) => kind === "main" && id !== "");
  const stopped = made.flatMap(({ name, stoppedFor }) =>
    stoppedFor !== undefined && stoppedFor.by === request.metadata.uid
      ? [[name, bareId(stoppedFor.id)] as const]
      : [],
  );
  return {
    request,
    containers: new Map(made.map((container) => [container.name, inRuntime(container)])),
    podStatuses: (pod.status?.containerStatuses ?? []).map(({ containerID = "", ...status }) => ({
      ...status,
      containerID,
    })),
    restartPolicy: pod.spec.restartPolicy ?? "Always",
    runtimeName,
    heldSince,
    stoppedHere: new Map(stopped),
  };
}

function inRuntime({ name, id, restarts, state, startedAt, exitCode }: ContainerRun): RuntimeContainer {
  return {
    name,
    id: bareId(id),
    restartCount: restarts,
    state: state === "waiting" ? "created" : state,
    startedAt,
    exitCode,
  };
}

function bareId(id: string): string {
  return splitContainerID(id)?.id ?? "";
}

function nodeOf({ metadata }: Request): string {
  return metadata.labels?.[requestLabels.node] ?? "";
}

function podUidOf({ metadata }: Request): string {
  return metadata.labels?.[requestLabels.podUid] ?? "";
}

function isRequest(object: StoredObject): object is Request {
  return object["spec"] !== undefined;
}
