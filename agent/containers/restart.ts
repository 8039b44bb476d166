/** Stops a container of a pod and starts it again: by the agent where that is possible, else the kubelet does it. */
import { isJsonObject, type JsonObject } from "../../kube/index.ts";
import type { AgentContainer, AgentPod } from "../../node/index.ts";
import type { AgentContext } from "../context.ts";
import type { CriClient } from "../cri/client.ts";
import { annotations, type SeenContainer } from "./observe.ts";
import { stopContainer } from "./stop.ts";

export interface RestartOrder {
  /** Source of the events. */
  readonly component: string;
  /** Why, in the metric of stopped containers. */
  readonly reason: "meta" | "liveness";
  /** Text of the `Killing` event. */
  readonly message: string;
  readonly client: CriClient;
  readonly pod: AgentPod;
  readonly container: SeenContainer;
  readonly signal: AbortSignal;
}

/** Rejects with AgentError when the runtime could not stop it. */
export async function restartContainer(
  context: Pick<AgentContext, "recreator" | "events" | "clock" | "agentMetrics">,
  { component, reason, message, client, pod, container, signal }: RestartOrder,
): Promise<void> {
  const prepared = await context.recreator.prepare(client, pod, container, signal);
  const recorder = context.events.from(component);
  const ofPod = pod.containers.find((one) => one.name === container.name);
  const order = {
    container: container.name,
    containerId: container.id,
    graceSeconds: graceOf(container),
    preStop: hookOf(container, ofPod),
    podIP: pod.podIP,
    ports: ofPod?.ports ?? [],
    message,
  };
  try {
    await stopContainer(order, {
      client,
      clock: context.clock,
      event: (type, why, text) => recorder.event(containerTarget(pod, container.name), type, why, text),
    });
  } catch (error) {
    if (prepared) await context.recreator.cancel(prepared);
    throw error;
  }
  context.agentMetrics.killed(reason, "stopped");
  if (prepared) await context.recreator.start(prepared);
}

/** What an event about one container of a pod is about. */
export function containerTarget({ namespace, name, uid }: AgentPod, container: string) {
  return { apiVersion: "v1", kind: "Pod", namespace, name, uid, fieldPath: `spec.containers{${container}}` };
}

const defaultGraceSeconds = 30;

function graceOf(container: SeenContainer): number {
  const seconds = Number(container.annotations[annotations.terminationGracePeriod]);
  return Number.isInteger(seconds) && seconds >= 0 ? seconds : defaultGraceSeconds;
}

/** The hook as the kubelet wrote it onto the container, else the pod's. */
function hookOf(container: SeenContainer, ofPod: AgentContainer | undefined): JsonObject | undefined {
  try {
    const written: unknown = JSON.parse(container.annotations[annotations.preStop] ?? "null");
    if (isJsonObject(written)) return written;
  } catch {
    // An odd annotation: the pod's own hook counts.
  }
  return ofPod?.preStop;
}
