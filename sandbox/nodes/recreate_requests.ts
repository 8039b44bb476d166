/** Simulated agents that carry out ContainerRecreateRequests, while their definition is served. */
import type { ContainerRecreateRequest } from "../../crds/index.ts";
import { type Clock, jsonEqual } from "../../kube/core/index.ts";
import { type Agenda, createAgenda, type Next } from "../agenda.ts";
import type { Cluster, ClusterChange, StoredObject } from "../cluster.ts";
import { isObject, isPod } from "../objects/index.ts";
import type { HollowNodes } from "./hollow_nodes.ts";
import { recreationStep, requestInTurn } from "./recreation.ts";

const resource = "containerrecreaterequests.apps.kruise.io";
const definitions = "customresourcedefinitions.apiextensions.k8s.io";
const nodeLabel = "crr.apps.kruise.io/node-name";
const activeLabel = "crr.apps.kruise.io/active";
const uidLabel = "crr.apps.kruise.io/pod-uid";
const defaultGraceSeconds = 30;

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
  readonly #unsubscribe: () => void;
  #endRequests: (() => void) | undefined;

  constructor(options: RecreateRequestsOptions) {
    this.#options = options;
    const { cluster, clock, onError } = options;
    this.#agenda = createAgenda({ clock, onError, run: (podKey) => this.#work(podKey) });
    this.#unsubscribe = cluster.subscribe(definitions, (change) => this.#definitionChanged(change));
    for (const definition of cluster.list(definitions))
      this.#definitionChanged({ type: "ADDED", object: definition });
  }

  podChanged(namespace: string, name: string): void {
    const podKey = `${namespace}/${name}`;
    if (this.#active.has(podKey)) this.#agenda.add(podKey);
  }

  stop(): void {
    this.#unsubscribe();
    this.#endRequests?.();
    this.#agenda.stop();
  }

  #definitionChanged({ type, object }: ClusterChange): void {
    if (object.metadata.name !== resource) return;
    if (type === "DELETED") {
      this.#endRequests?.();
      this.#endRequests = undefined;
      this.#active.clear();
    } else if (this.#endRequests === undefined && isEstablished(object)) {
      const { cluster } = this.#options;
      this.#endRequests = cluster.subscribe(resource, (change) => this.#requestChanged(change));
      for (const request of cluster.list(resource)) this.#requestChanged({ type: "ADDED", object: request });
    }
  }

  #requestChanged({ type, object }: ClusterChange): void {
    if (!isRequest(object)) return;
    const podKey = `${object.metadata.namespace}/${object.spec.podName}`;
    const names = this.#active.get(podKey) ?? new Set();
    const name = object.metadata.name ?? "";
    if (type !== "DELETED" && (this.#isActive(object) || this.#isStopping(object)))
      this.#active.set(podKey, names.add(name));
    else names.delete(name);
    if (names.size === 0) this.#active.delete(podKey);
    else this.#agenda.add(podKey);
  }

  #isActive({ metadata, status }: Request): boolean {
    const { labels = {}, deletionTimestamp } = metadata;
    return (
      labels[activeLabel] === "true" &&
      deletionTimestamp === undefined &&
      status?.phase !== "Completed" &&
      this.#options.nodes.node(labels[nodeLabel] ?? "") !== undefined
    );
  }

  /** The controller has ended it while its agent stops a container. */
  #isStopping({ metadata, status }: Request): boolean {
    if (status?.phase !== "Completed") return false;
    const run = this.#options.nodes.runOf(metadata.labels?.[uidLabel] ?? "");
    return run?.containers.some((container) => container.stopAsked?.by === metadata.uid) ?? false;
  }

  /** What was done is still told; the phase stays. */
  #tellEnd(request: Request, podKey: string): void {
    if (this.#isStopping(request)) return;
    const { metadata, status } = request;
    this.#active.get(podKey)?.delete(metadata.name ?? "");
    const run = this.#options.nodes.runOf(metadata.labels?.[uidLabel] ?? "");
    const stopped = (name: string) =>
      run?.containers.some((one) => one.name === name && one.stoppedFor === metadata.uid) ?? false;
    const states = status?.containerRecreateStates?.map((state) =>
      state.phase === "Pending" && stopped(state.name)
        ? { name: state.name, phase: "Recreating", isKilled: true }
        : state,
    );
    if (states !== undefined) this.#write(request, { ...status, containerRecreateStates: states });
  }

  #work(podKey: string): Next {
    const { cluster, clock, nodes } = this.#options;
    const [namespace = "", podName = ""] = podKey.split("/");
    const known = [...(this.#active.get(podKey) ?? [])]
      .map((name) => cluster.get(resource, { namespace, name }))
      .filter((request) => request !== undefined)
      .filter(isRequest);
    const requests = known.filter(({ status }) => status?.phase !== "Completed");
    for (const request of known) if (!requests.includes(request)) this.#tellEnd(request, podKey);
    const request = requestInTurn(requests);
    if (request === undefined || !nodes.node(request.metadata.labels?.[nodeLabel] ?? "")?.alive)
      return undefined;
    for (const other of requests)
      if (other !== request && !other.status?.phase) this.#write(other, { phase: "Pending" });
    const uid = request.metadata.labels?.[uidLabel] ?? "";
    const run = nodes.runOf(uid);
    const pod = cluster.get("pods", { namespace, name: podName });
    if (run === undefined || !isPod(pod) || pod.metadata.uid !== uid) return undefined;
    const step = recreationStep(request, pod, run, clock.now());
    if (step.stop !== undefined) this.#stop(request, uid, step.stop);
    this.#write(request, step.status);
    return step.wakeAfterMs;
  }

  #stop({ metadata, spec }: Request, podUid: string, name: string): void {
    this.#options.nodes.withContainer(podUid, name, (container) => {
      container.stopAsked ??= {
        by: metadata.uid ?? "",
        message: `Stopping container ${name} by ContainerRecreateRequest ${metadata.name}`,
        graceSeconds: spec.strategy?.terminationGracePeriodSeconds ?? defaultGraceSeconds,
      };
    });
  }

  #write({ metadata }: Request, status: object): void {
    const { namespace = "", name = "", uid } = metadata;
    this.#options.cluster.update(resource, { namespace, name }, (draft) => {
      if (draft.metadata.uid === uid && !jsonEqual(draft["status"], status)) draft["status"] = status;
    });
  }
}

/** Until then nothing of the kind is served. */
function isEstablished({ status }: StoredObject): boolean {
  const conditions: unknown = isObject(status) ? status["conditions"] : undefined;
  return (
    Array.isArray(conditions) &&
    conditions.some(
      (one: unknown) => isObject(one) && one["type"] === "Established" && one["status"] === "True",
    )
  );
}

function isRequest(object: StoredObject): object is Request {
  const { spec } = object;
  return isObject(spec) && typeof spec["podName"] === "string" && Array.isArray(spec["containers"]);
}
