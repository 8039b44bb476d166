/** What plans see of the pods of their node. Times are milliseconds since the Unix epoch. */
import { isJsonObject as isObject, type JsonObject, metadataReference } from "../kube/core/index.ts";
import type { ReportedContainer } from "./container.ts";

export interface AgentEnv {
  readonly name: string;
  readonly value: string;
  /** `valueFrom.fieldRef.fieldPath`. */
  readonly fieldPath: string | undefined;
  /** The value comes from a ConfigMap or Secret, which the agent does not read. */
  readonly external: boolean;
}

/** Quantities by list and name, `limits.cpu`. */
export type AgentResources = Readonly<Record<string, string>>;

export interface AgentContainer {
  readonly name: string;
  readonly image: string;
  readonly imagePullPolicy: string;
  readonly env: readonly AgentEnv[];
  readonly hasEnvFrom: boolean;
  readonly hasPostStart: boolean;
  readonly hasStartupProbe: boolean;
  readonly hasSubPath: boolean;
  /** `lifecycle.preStop` as it is written. */
  readonly preStop: JsonObject | undefined;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly resources: AgentResources;
}

export interface AgentContainerStatus extends ReportedContainer {
  /** A container that is only created has an id in the status, too. */
  readonly running: boolean;
  /** It runs, and its startup probe, if there is one, has succeeded. */
  readonly started: boolean;
  /** What the container runs with; empty when the kubelet does not report it. */
  readonly resources: AgentResources;
}

export interface AgentPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Empty before it is bound. */
  readonly nodeName: string;
  readonly deleting: boolean;
  /** `metadata.generation`; 0 from servers before 1.33. */
  readonly generation: number;
  /** The generation that the kubelet knew when it reported last; 0 from kubelets before 1.33. */
  readonly observedGeneration: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** API group of the controlling owner, without version; empty without one. */
  readonly controllerGroup: string;
  readonly phase: string;
  readonly restartPolicy: string;
  readonly terminationGracePeriodSeconds: number;
  /** Of its own or of its service account, which admission copies into the spec. */
  readonly hasPullSecrets: boolean;
  readonly containers: readonly AgentContainer[];
  readonly containerStatuses: readonly AgentContainerStatus[];
  /** Condition type -> status. */
  readonly conditions: Readonly<Record<string, string>>;
  readonly podIP: string;
}

function text(object: JsonObject, key: string, otherwise = ""): string {
  const value = object[key];
  return typeof value === "string" ? value : otherwise;
}
function number(object: JsonObject, key: string, otherwise = 0): number {
  const value = object[key];
  return typeof value === "number" ? value : otherwise;
}
function child(object: JsonObject, key: string): JsonObject {
  const value = object[key];
  return isObject(value) ? value : {};
}
function objects(object: JsonObject, key: string): JsonObject[] {
  const value = object[key];
  return Array.isArray(value) ? value.filter(isObject) : [];
}
function strings(object: JsonObject, key: string): Record<string, string> {
  const entries = Object.entries(child(object, key)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(entries);
}

function resources(container: JsonObject): AgentResources {
  const lists = child(container, "resources");
  const entries = ["limits", "requests"].flatMap((list) =>
    Object.entries(strings(lists, list)).map(([name, amount]) => [`${list}.${name}`, amount] as const),
  );
  return Object.fromEntries(entries);
}

/** Throws when it is not a pod at all; single odd members are left out. */
export function agentPod(json: JsonObject): AgentPod {
  const metadata = child(json, "metadata");
  const spec = child(json, "spec");
  const status = child(json, "status");
  if (text(metadata, "name") === "") throw new TypeError("a pod without a name");
  const controller = objects(metadata, "ownerReferences").find((owner) => owner["controller"] === true);
  return {
    namespace: text(metadata, "namespace"),
    name: text(metadata, "name"),
    uid: text(metadata, "uid"),
    resourceVersion: text(metadata, "resourceVersion"),
    nodeName: text(spec, "nodeName"),
    deleting: metadata["deletionTimestamp"] !== undefined,
    generation: number(metadata, "generation"),
    observedGeneration: number(status, "observedGeneration"),
    labels: strings(metadata, "labels"),
    annotations: strings(metadata, "annotations"),
    controllerGroup: controller ? (text(controller, "apiVersion").split("/").at(-2) ?? "") : "",
    phase: text(status, "phase"),
    restartPolicy: text(spec, "restartPolicy", "Always"),
    terminationGracePeriodSeconds: number(spec, "terminationGracePeriodSeconds", 30),
    hasPullSecrets: objects(spec, "imagePullSecrets").length > 0,
    containers: objects(spec, "containers").map(agentContainer),
    containerStatuses: objects(status, "containerStatuses").map((one) => ({
      name: text(one, "name"),
      containerID: text(one, "containerID"),
      ready: one["ready"] === true,
      running: isObject(child(one, "state")["running"]),
      started: one["started"] === true,
      restartCount: number(one, "restartCount"),
      resources: resources(one),
    })),
    conditions: Object.fromEntries(
      objects(status, "conditions").map((one) => [text(one, "type"), text(one, "status")]),
    ),
    podIP: text(status, "podIP"),
  };
}

function agentContainer(json: JsonObject): AgentContainer {
  const lifecycle = child(json, "lifecycle");
  return {
    name: text(json, "name"),
    image: text(json, "image"),
    imagePullPolicy: text(json, "imagePullPolicy"),
    env: objects(json, "env").map((one) => {
      const from = child(one, "valueFrom");
      return {
        name: text(one, "name"),
        value: text(one, "value"),
        fieldPath: isObject(from["fieldRef"]) ? text(from["fieldRef"], "fieldPath") : undefined,
        external:
          isObject(from["configMapKeyRef"]) || isObject(from["secretKeyRef"]) || isObject(from["fileKeyRef"]),
      };
    }),
    hasEnvFrom: objects(json, "envFrom").length > 0,
    hasPostStart: isObject(lifecycle["postStart"]),
    hasStartupProbe: isObject(json["startupProbe"]),
    hasSubPath: objects(json, "volumeMounts").some(
      (one) => text(one, "subPath") !== "" || text(one, "subPathExpr") !== "",
    ),
    preStop: isObject(lifecycle["preStop"]) ? lifecycle["preStop"] : undefined,
    ports: objects(json, "ports").map((one) => ({
      name: text(one, "name"),
      containerPort: number(one, "containerPort"),
    })),
    resources: resources(json),
  };
}

/** Value of an env entry that refers to a label or annotation of its pod; undefined for any other entry. */
export function metadataEnvValue(env: AgentEnv, pod: AgentPod): string | undefined {
  const reference = env.value === "" ? metadataReference(env.fieldPath ?? "") : undefined;
  if (reference === undefined) return undefined;
  const values = pod[reference.from];
  return Object.hasOwn(values, reference.key) ? values[reference.key] : "";
}
