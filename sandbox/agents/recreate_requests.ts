/** ContainerRecreateRequests on simulated containers, as `planRestart` decides. Spec: containers 1.4. */
import type { ContainerRecreateRequest, ContainerRecreateRequestStatus } from "../../crds/index.ts";
import {
  HeldSince,
  isOver,
  pickRequest,
  planRestart,
  podNameOf,
  type RestartObserved,
  requestLabels,
  restartStatus,
  splitContainerID,
  stopTerms,
  unacknowledged,
  unreadablePart,
} from "../../node/index.ts";
import type { Agenda, Next } from "../agenda.ts";
import type { ClusterChange, StoredObject } from "../cluster.ts";
import { inRuntime } from "../nodes/node_agent.ts";
import type { PodRun } from "../nodes/pod_run.ts";
import { isPod, type PodObject } from "../objects/index.ts";
import { type AgentParts, type KindLoop, startKindLoop, writeStatus } from "./kind_loop.ts";

const resource = "containerrecreaterequests.apps.kruise.io";
const runtimeName = "sandbox";

type Request = StoredObject & ContainerRecreateRequest;

export class RecreateRequests {
  readonly #parts: AgentParts;
  readonly #loop: KindLoop;
  /** Pod as `namespace/name` -> names of the requests that are to be carried out. */
  readonly #active = new Map<string, Set<string>>();
  readonly #held = new HeldSince();

  constructor(parts: AgentParts) {
    this.#parts = parts;
    const changed = (change: ClusterChange, agenda: Agenda): void => this.#changed(change, agenda);
    this.#loop = startKindLoop(parts, resource, changed, (podKey) => this.#work(podKey));
  }

  podChanged(podKey: string): void {
    if (this.#active.has(podKey)) this.#loop.add(podKey);
  }

  stop(): void {
    this.#loop.stop();
  }

  #changed({ type, object }: ClusterChange, agenda: Agenda): void {
    if (!isRequest(object)) return;
    const podKey = `${object.metadata.namespace}/${podNameOf(object)}`;
    const names = this.#active.get(podKey) ?? new Set();
    const name = object.metadata.name ?? "";
    if (type !== "DELETED" && (this.#isActive(object) || this.#isStopping(object)))
      this.#active.set(podKey, names.add(name));
    else names.delete(name);
    if (names.size > 0) agenda.add(podKey);
    else {
      this.#active.delete(podKey);
      this.#held.forget(podKey);
    }
  }

  #isActive(request: Request): boolean {
    const { labels, deletionTimestamp } = request.metadata;
    const isOpen = labels?.[requestLabels.active] === "true" && deletionTimestamp === undefined;
    return isOpen && !isOver(request) && this.#nodeOf(request) !== undefined;
  }

  /** The controller has ended it while its agent stops a container. */
  #isStopping(request: Request): boolean {
    const { uid } = request.metadata;
    return (
      isOver(request) && (this.#runOf(request)?.containers ?? []).some((one) => one.stopAsked?.by === uid)
    );
  }

  #nodeOf({ metadata }: Request) {
    return this.#parts.nodes.node(metadata.labels?.[requestLabels.node] ?? "");
  }

  #runOf(request: Request): PodRun | undefined {
    return this.#parts.nodes.runOf(podUidOf(request));
  }

  #work(podKey: string): Next {
    const { cluster, clock } = this.#parts;
    const [namespace = "", podName = ""] = podKey.split("/");
    const known = [...(this.#active.get(podKey) ?? [])]
      .map((name) => cluster.get(resource, { namespace, name }))
      .filter(isRequest);
    const pod = cluster.get("pods", { namespace, name: podName });
    for (const request of known) if (isOver(request)) this.#reportEnd(request, podKey, pod);
    const request = pickRequest(known);
    if (request === undefined || !this.#nodeOf(request)?.alive) return undefined;
    for (const other of unacknowledged(known, request)) this.#write(other, { phase: "Pending" });
    const now = clock.now();
    const unreadable = unreadablePart(request);
    if (unreadable !== undefined) {
      const completed = { message: `the request cannot be carried out: ${unreadable}` };
      this.#write(request, restartStatus({ states: [], completed }, now));
      return undefined;
    }
    const seen = this.#seen(request, podKey, pod);
    if (seen === undefined) return undefined;
    const plan = planRestart(seen, now);
    if (plan.kill !== undefined) this.#stop(request, plan.kill);
    this.#write(request, restartStatus(plan, now));
    return plan.requeueAfterMs;
  }

  #write(request: Request, status: Partial<ContainerRecreateRequestStatus>): void {
    writeStatus(this.#parts.cluster, resource, request, { ...request.status, ...status });
  }

  /** Undefined when the pod is not the one that is meant, or not on a simulated node. */
  #seen(request: Request, podKey: string, pod: StoredObject | undefined): RestartObserved | undefined {
    const run = this.#runOf(request);
    if (run === undefined || !isPod(pod) || pod.metadata.uid !== podUidOf(request)) return undefined;
    const heldSince = this.#held.of(podKey, request, this.#parts.clock.now());
    return { ...containersOf(request, pod, run), request, runtimeName, heldSince };
  }

  /** What was done is still reported; the phase stays. */
  #reportEnd(request: Request, podKey: string, pod: StoredObject | undefined): void {
    if (this.#isStopping(request)) return;
    this.#active.get(podKey)?.delete(request.metadata.name ?? "");
    const seen = this.#seen(request, podKey, pod);
    if (seen === undefined) return;
    const { states } = planRestart(seen, this.#parts.clock.now());
    this.#write(request, { containerRecreateStates: [...states] });
  }

  #stop(request: Request, name: string): void {
    this.#parts.nodes.withContainer(podUidOf(request), name, (container) => {
      container.stopAsked ??= { by: request.metadata.uid ?? "", ...stopTerms(request, name) };
    });
  }
}

function containersOf({ metadata: { uid } }: Request, { spec, status }: PodObject, { containers }: PodRun) {
  const mains = containers.filter(({ kind }) => kind === "main");
  const made = mains.map(inRuntime).filter((container) => container !== undefined);
  return {
    containers: new Map(made.map((container) => [container.name, container])),
    podStatuses: (status?.containerStatuses ?? []).map((one) => ({
      ...one,
      containerID: one.containerID ?? "",
    })),
    restartPolicy: spec.restartPolicy ?? "Always",
    stoppedHere: new Map(
      mains
        .filter(({ stoppedFor }) => stoppedFor !== undefined && stoppedFor.by === uid)
        .map(({ name, stoppedFor }) => [name, splitContainerID(stoppedFor?.id ?? "")?.id ?? ""]),
    ),
  };
}

function podUidOf({ metadata }: Request): string {
  return metadata.labels?.[requestLabels.podUid] ?? "";
}

function isRequest(object: StoredObject | undefined): object is Request {
  return object?.["spec"] !== undefined;
}
