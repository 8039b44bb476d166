/** Endpoints and EndpointSlices of Services with a selector. */
import type { V1ServicePort } from "@kubernetes/client-node";
import {
  compileSelector,
  formatTime,
  isJsonObject,
  jsonEqual,
  refOf,
  type Selector,
} from "../../kube/core/index.ts";
import type { ClusterChange, StoredObject } from "../cluster.ts";
import { ClusterLoop, type LoopOptions } from "../cluster_loop.ts";
import { fieldsAt, listAt, valueAt } from "../json.ts";
import { isFinished, isPod, isPodReady, type PodObject } from "../objects/index.ts";
import { keyOfObject } from "../workloads/workload.ts";

interface KnownService {
  readonly namespace: string;
  readonly selector: Selector;
}

const slices = "endpointslices.discovery.k8s.io";
const managedBy = "endpointslice-controller.k8s.io";
/** Changes of pods within this time become one write. */
const gatherMs = 10;

export class ServiceEndpoints extends ClusterLoop {
  readonly #services = new Map<string, KnownService>();
  /** Namespace -> pods with an address, so that a service never walks the whole cluster. */
  readonly #pods = new Map<string, Map<string, PodObject>>();

  constructor(options: LoopOptions) {
    super(options);
    this.follow("pods", (change) => this.#podChanged(change));
    this.follow("services", (change) => this.#serviceChanged(change));
  }

  #serviceChanged({ type, object }: ClusterChange): void {
    const key = keyOfObject(object);
    const selector = selectorOfService(object);
    if (type === "DELETED" || !selector) {
      this.#services.delete(key);
      if (type === "DELETED") this.options.cluster.remove("endpoints", refOf(key));
      return;
    }
    this.#services.set(key, { namespace: object.metadata.namespace ?? "", selector });
    this.agenda.add(key, gatherMs);
  }

  #podChanged(change: ClusterChange): void {
    const pod = change.object;
    if (!isPod(pod)) return;
    const namespace = pod.metadata.namespace ?? "";
    const inNamespace = this.#pods.get(namespace) ?? new Map<string, PodObject>();
    this.#pods.set(namespace, inNamespace);
    if (change.type === "DELETED") inNamespace.delete(pod.metadata.uid ?? "");
    else if (pod.status?.podIP) inNamespace.set(pod.metadata.uid ?? "", pod);
    if (this.#services.size === 0) return;
    if (change.type === "MODIFIED" && isPod(change.before) && jsonEqual(serving(pod), serving(change.before)))
      return;
    const labelsBefore = change.type === "MODIFIED" ? change.before.metadata.labels : undefined;
    for (const [key, service] of this.#services) {
      if (service.namespace !== namespace) continue;
      const concerns =
        service.selector.matches(pod.metadata.labels) ||
        (labelsBefore !== undefined && service.selector.matches(labelsBefore));
      if (concerns) this.agenda.add(key, gatherMs);
    }
  }

  protected override work(key: string): undefined {
    const { cluster } = this.options;
    const service = cluster.get("services", refOf(key));
    const known = this.#services.get(key);
    if (!service || !known) return;
    const pods: PodObject[] = [];
    for (const pod of this.#pods.get(known.namespace)?.values() ?? []) {
      if (known.selector.matches(pod.metadata.labels) && !isFinished(pod)) pods.push(pod);
    }
    pods.sort((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
    this.#writeEndpoints(service, pods);
    this.#writeSlice(service, pods);
  }

  #writeEndpoints(service: StoredObject, pods: readonly PodObject[]): void {
    const { cluster, clock } = this.options;
    const address = (pod: PodObject) => ({
      ip: pod.status?.podIP ?? "",
      ...(pod.spec.hostname && pod.spec.subdomain === service.metadata.name
        ? { hostname: pod.spec.hostname }
        : {}),
      nodeName: pod.spec.nodeName ?? "",
      targetRef: targetRef(pod),
    });
    const ready = pods.filter((pod) => isServing(service, pod)).map(address);
    const notReady = pods.filter((pod) => !isServing(service, pod) && !isGoing(pod)).map(address);
    const ports = portsOf(service, pods[0]);
    const subset = {
      ...(ready.length > 0 ? { addresses: ready } : {}),
      ...(notReady.length > 0 ? { notReadyAddresses: notReady } : {}),
      ...(ports.length > 0 ? { ports } : {}),
    };
    const subsets = ready.length + notReady.length > 0 ? [subset] : [];
    const ref = refOf(keyOfObject(service));
    const updated = cluster.update("endpoints", ref, (draft) => {
      if (jsonEqual(draft["subsets"] ?? [], subsets)) return;
      draft.metadata.annotations = {
        ...draft.metadata.annotations,
        "endpoints.kubernetes.io/last-change-trigger-time": formatTime(clock.now()),
      };
      draft["subsets"] = subsets;
    });
    if (updated) return;
    cluster.create("endpoints", {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: {
        ...ref,
        labels: { ...service.metadata.labels, "endpoints.kubernetes.io/managed-by": "endpoint-controller" },
      },
      subsets,
    });
  }

  #writeSlice(service: StoredObject, pods: readonly PodObject[]): void {
    const { cluster } = this.options;
    const { namespace = "", name = "", uid = "" } = service.metadata;
    const endpoints = pods.map((pod) => ({
      addresses: [pod.status?.podIP ?? ""],
      conditions: { ready: isServing(service, pod), serving: isPodReady(pod), terminating: isGoing(pod) },
      ...(pod.spec.hostname && pod.spec.subdomain === name ? { hostname: pod.spec.hostname } : {}),
      nodeName: pod.spec.nodeName ?? "",
      targetRef: targetRef(pod),
    }));
    const ports = portsOf(service, pods[0]);
    const ref = { namespace, name: `${name}-sandbox` };
    const updated = cluster.update(slices, ref, (draft) => {
      draft["endpoints"] = endpoints;
      draft["ports"] = ports;
    });
    if (updated) return;
    cluster.create(slices, {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        ...ref,
        labels: {
          ...service.metadata.labels,
          "endpointslice.kubernetes.io/managed-by": managedBy,
          "kubernetes.io/service-name": name,
        },
        ownerReferences: [
          { apiVersion: "v1", kind: "Service", name, uid, controller: true, blockOwnerDeletion: true },
        ],
      },
      addressType: "IPv4",
      endpoints,
      ports,
    });
  }
}

/** What of a pod endpoints depend on. */
function serving(pod: PodObject): unknown {
  return [
    pod.status?.podIP,
    pod.status?.phase,
    isPodReady(pod),
    isGoing(pod),
    pod.metadata.labels,
    pod.spec.nodeName,
  ];
}

function isGoing(pod: PodObject): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

function isServing(service: StoredObject, pod: PodObject): boolean {
  if (valueAt(service, "spec", "publishNotReadyAddresses") === true) return true;
  return isPodReady(pod) && !isGoing(pod);
}

function selectorOfService(service: StoredObject): Selector | undefined {
  const labels = Object.entries(fieldsAt(service, "spec", "selector"));
  if (labels.length === 0) return undefined;
  return compileSelector({
    matchLabels: Object.fromEntries(labels.map(([key, value]) => [key, String(value)])),
  });
}

function targetRef(pod: PodObject): object {
  const { namespace = "", name = "", uid = "" } = pod.metadata;
  return { kind: "Pod", namespace, name, uid };
}

function portsOf(service: StoredObject, pod: PodObject | undefined): object[] {
  const ports = listAt(service, "spec", "ports").filter(isPort);
  return ports.map(({ name, port, protocol = "TCP", targetPort }) => ({
    ...(name === undefined ? {} : { name }),
    port: typeof targetPort === "string" ? (namedPort(pod, targetPort) ?? port) : (targetPort ?? port),
    protocol,
  }));
}

function isPort(port: unknown): port is V1ServicePort {
  return isJsonObject(port) && typeof port["port"] === "number";
}

function namedPort(pod: PodObject | undefined, name: string): number | undefined {
  const ports = pod?.spec.containers.flatMap((container) => container.ports ?? []);
  return ports?.find((port) => port.name === name)?.containerPort;
}
