/**
 * Pods as those see them who look into running containers: ports, how each container fares, ephemeral containers.
 * kube/pod.ts has what workloads need of every pod of theirs; this is for the few pods that an object selects.
 */
import { isJsonObject, type JsonObject, type Labels, own } from "../../kube/core/index.ts";
import { identifyProjection, projectedJsonCodec, type Resource } from "../../kube/index.ts";
import { objectAt, objectsAt, textAt, textsAt } from "./json_fields.ts";

interface ObservedCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** RFC 3339 as sent; empty when absent. */
  readonly lastTransitionTime: string;
}

export interface ObservedContainer {
  readonly name: string;
  readonly image: string;
  /** Ports that have a name. */
  readonly ports: readonly { readonly name: string; readonly port: number }[];
  /** `KRUISE_*` variables with a literal value. */
  readonly env: Labels;
}

/** How a container fares; all absent before the node has reported it. */
interface ObservedRun {
  readonly name: string;
  /** Reason why it waits. */
  readonly waiting?: string;
  readonly running?: true;
  /** Code with which it ended. */
  readonly exitCode?: number;
}

export interface ObservedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** RFC 3339 in UTC with whole seconds: in order of text they are in order of time. */
  readonly createdAt: string;
  readonly deleting: boolean;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly nodeName: string;
  readonly restartPolicy: string;
  readonly containers: readonly ObservedContainer[];
  readonly ephemeralContainers: readonly ObservedContainer[];
  /** As in kube/pod.ts. */
  readonly phase: string;
  readonly podIP: string;
  readonly conditions: readonly ObservedCondition[];
  readonly runs: readonly ObservedRun[];
  readonly ephemeralRuns: readonly ObservedRun[];
}

export const observedPodResource: Resource<ObservedPod> = {
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
  codec: projectedJsonCodec<ObservedPod>({
    fromJson: (value) => observedPod({ ...value }),
    identify: identifyProjection,
  }),
};

/** Neither finished nor being deleted. */
export function isActivePod(pod: Pick<ObservedPod, "phase" | "deleting">): boolean {
  return !pod.deleting && pod.phase !== "Succeeded" && pod.phase !== "Failed";
}

export function observedPod(value: JsonObject): ObservedPod {
  const metadata = objectAt(value, "metadata");
  const spec = objectAt(value, "spec");
  const status = objectAt(value, "status");
  return {
    namespace: textAt(metadata, "namespace"),
    name: textAt(metadata, "name"),
    uid: textAt(metadata, "uid"),
    resourceVersion: textAt(metadata, "resourceVersion"),
    createdAt: textAt(metadata, "creationTimestamp"),
    deleting: textAt(metadata, "deletionTimestamp") !== "",
    labels: textsAt(metadata, "labels"),
    annotations: annotationsOf(metadata),
    nodeName: textAt(spec, "nodeName"),
    restartPolicy: textAt(spec, "restartPolicy"),
    containers: objectsAt(spec, "containers").map(containerOf),
    ephemeralContainers: objectsAt(spec, "ephemeralContainers").map(containerOf),
    phase: textAt(status, "phase"),
    podIP: textAt(status, "podIP"),
    conditions: objectsAt(status, "conditions").map(conditionOf),
    runs: objectsAt(status, "containerStatuses").map(runOf),
    ephemeralRuns: objectsAt(status, "ephemeralContainerStatuses").map(runOf),
  };
}

function containerOf(container: JsonObject): ObservedContainer {
  const ports = objectsAt(container, "ports").flatMap((port) => {
    const name = textAt(port, "name");
    const number = port["containerPort"];
    return name !== "" && typeof number === "number" ? [{ name, port: number }] : [];
  });
  const env: Record<string, string> = {};
  for (const variable of objectsAt(container, "env")) {
    const name = textAt(variable, "name");
    if (name.startsWith("KRUISE_")) env[name] = textAt(variable, "value");
  }
  return { name: textAt(container, "name"), image: textAt(container, "image"), ports, env };
}

function conditionOf(condition: JsonObject): ObservedCondition {
  return {
    type: textAt(condition, "type"),
    status: textAt(condition, "status"),
    reason: textAt(condition, "reason"),
    message: textAt(condition, "message"),
    lastTransitionTime: textAt(condition, "lastTransitionTime"),
  };
}

function runOf(status: JsonObject): ObservedRun {
  const name = textAt(status, "name");
  const state = objectAt(status, "state");
  const terminated = own(state, "terminated");
  if (isJsonObject(terminated)) return { name, exitCode: Number(own(terminated, "exitCode") ?? 0) };
  if (isJsonObject(own(state, "running"))) return { name, running: true };
  const waiting = own(state, "waiting");
  return isJsonObject(waiting) ? { name, waiting: textAt(waiting, "reason") } : { name };
}

/** Without the metadata of `kubectl apply`: as large as the pod's spec and read by nobody here. */
function annotationsOf(metadata: JsonObject): Labels {
  const { "kubectl.kubernetes.io/last-applied-configuration": _, ...read } = textsAt(metadata, "annotations");
  return read;
}
