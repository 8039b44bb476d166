/**
 * Liveness probes that admission took out of a pod's spec, for the agent to run (spec containers 6). Pure.
 * The annotation is the user's to edit: whatever in it is no probe is left out.
 */
import { isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import { type RuntimeContainer, splitContainerID } from "../container.ts";
import type { AgentPod } from "../pod.ts";
import type { Probe } from "../probes/wanted.ts";

const enhancedLivenessAnnotation = "apps.kruise.io/using-enhanced-liveness";
const probeContextAnnotation = "apps.kruise.io/container-probe-context";

/** As the API defaults a liveness probe. */
const defaults = {
  initialDelaySeconds: 0,
  periodSeconds: 10,
  timeoutSeconds: 1,
  failureThreshold: 3,
};

export interface LivenessProbe {
  readonly container: string;
  readonly probe: Probe & typeof defaults;
  /** What a container that fails it has to end, where the probe says so itself. */
  readonly graceSeconds?: number;
}

export function livenessProbesOf(pod: AgentPod): LivenessProbe[] {
  if (pod.deleting || pod.phase !== "Running" || pod.controllerGroup !== "apps.kruise.io") return [];
  if (pod.annotations[enhancedLivenessAnnotation] !== "true") return [];
  return listed(pod.annotations[probeContextAnnotation]).flatMap((entry) => {
    const { name, livenessProbe } = entry;
    const container = pod.containers.find((one) => one.name === name);
    if (container === undefined || !isJsonObject(livenessProbe)) return [];
    const action = actionOf(livenessProbe, container.ports);
    if (action === undefined) return [];
    const probe = { ...numbers(livenessProbe), ...action };
    const seconds = livenessProbe["terminationGracePeriodSeconds"];
    const grace = typeof seconds === "number" && seconds >= 1 ? { graceSeconds: seconds } : {};
    return [{ container: container.name, probe, ...grace }];
  });
}

/** A container that does not run is left to the kubelet, and so is one whose startup probe has not succeeded yet. */
export function isLivenessDue(
  pod: AgentPod,
  { container: name, probe: { initialDelaySeconds } }: LivenessProbe,
  { id, state, startedAt }: RuntimeContainer,
  now: number,
): boolean {
  if (state !== "running" || now - startedAt < initialDelaySeconds * 1000) return false;
  if (pod.containers.find((one) => one.name === name)?.hasStartupProbe !== true) return true;
  return pod.containerStatuses.some(
    ({ containerID, started }) => started && splitContainerID(containerID)?.id === id,
  );
}

function listed(text: string | undefined): JsonObject[] {
  try {
    const entries: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(entries) ? entries.filter(isJsonObject) : [];
  } catch {
    return [];
  }
}

function actionOf(
  { exec, httpGet, tcpSocket }: JsonObject,
  ports: readonly { readonly name: string; readonly containerPort: number }[],
): Probe | undefined {
  if (isJsonObject(exec)) {
    const command = Array.isArray(exec["command"]) ? exec["command"].map(String) : [];
    return command.length === 0 ? undefined : { exec: { command } };
  }
  const action = isJsonObject(httpGet) ? httpGet : tcpSocket;
  if (!isJsonObject(action)) return undefined;
  const named = ports.find(({ name }) => name !== "" && name === action["port"])?.containerPort;
  const port = named ?? Number(action["port"]);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return undefined;
  if (action !== httpGet) return { tcpSocket: { port } };
  const text = (key: string, otherwise: string) =>
    typeof action[key] === "string" ? action[key] : otherwise;
  const headers = Array.isArray(action["httpHeaders"]) ? action["httpHeaders"].filter(isJsonObject) : [];
  const httpHeaders = headers.map(({ name, value }) => ({ name: String(name), value: String(value ?? "") }));
  return { httpGet: { port, path: text("path", "/"), scheme: text("scheme", "HTTP"), httpHeaders } };
}

function numbers(probe: JsonObject): typeof defaults {
  const number = (key: keyof typeof defaults, least: number): number => {
    const value = probe[key];
    return typeof value === "number" && value >= least ? value : defaults[key];
  };
  return {
    initialDelaySeconds: number("initialDelaySeconds", 0),
    periodSeconds: number("periodSeconds", 1),
    timeoutSeconds: number("timeoutSeconds", 1),
    failureThreshold: number("failureThreshold", 1),
  };
}
