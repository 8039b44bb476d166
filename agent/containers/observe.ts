/** A pod's containers as the runtime has them. */
import type { RuntimeContainer } from "../../node/index.ts";
import { type Container, ContainerState, methods } from "../../proto/cri/index.ts";
import type { CriClient } from "../cri/client.ts";
import { isAgentError } from "../errors.ts";

export const labels = {
  container: "io.kubernetes.container.name",
  pod: "io.kubernetes.pod.name",
  namespace: "io.kubernetes.pod.namespace",
  uid: "io.kubernetes.pod.uid",
} as const;

export const annotations = {
  hash: "io.kubernetes.container.hash",
  restartCount: "io.kubernetes.container.restartCount",
  terminationGracePeriod: "io.kubernetes.pod.terminationGracePeriod",
  preStop: "io.kubernetes.container.preStopHandler",
  ports: "io.kubernetes.container.ports",
} as const;

/** As the runtime tells of it. */
export interface CriContainer extends RuntimeContainer {
  readonly sandboxId: string;
  readonly attempt: number;
  readonly createdAt: number;
  readonly annotations: Readonly<Record<string, string>>;
}

const states = new Map<number, CriContainer["state"]>([
  [ContainerState.CONTAINER_CREATED, "created"],
  [ContainerState.CONTAINER_RUNNING, "running"],
  [ContainerState.CONTAINER_EXITED, "exited"],
]);

/** The newest instance of each container name of the pod, or of one name alone. Throws AgentError. */
export async function observeContainers(
  client: CriClient,
  podUid: string,
  signal?: AbortSignal,
  only?: string,
): Promise<ReadonlyMap<string, CriContainer>> {
  const ofOne = only === undefined ? {} : { [labels.container]: only };
  const filter = { label_selector: { [labels.uid]: podUid, ...ofOne } };
  const { containers } = await client.call(methods.ListContainers, { filter }, { signal });
  const newest = new Map<string, Container>();
  for (const container of containers) {
    const name = container.labels[labels.container] ?? container.metadata?.name ?? "";
    const known = newest.get(name);
    if (!known || isNewer(container, known)) newest.set(name, container);
  }
  const seen = new Map<string, CriContainer>();
  for (const [name, container] of newest) {
    const found = await withTimes(client, name, container, signal).catch((error: unknown) => {
      // It went between the two calls.
      if (isAgentError(error, "NotFound")) return undefined;
      throw error;
    });
    if (found) seen.set(name, found);
  }
  return seen;
}

function isNewer(a: Container, b: Container): boolean {
  const difference = (a.metadata?.attempt ?? 0) - (b.metadata?.attempt ?? 0);
  return difference === 0 ? a.created_at > b.created_at : difference > 0;
}

/** ListContainers does not say when a container started. */
async function withTimes(
  client: CriClient,
  name: string,
  container: Container,
  signal: AbortSignal | undefined,
): Promise<CriContainer> {
  const { status } = await client.call(methods.ContainerStatus, { container_id: container.id }, { signal });
  const attempt = container.metadata?.attempt ?? 0;
  const counted = Number(container.annotations[annotations.restartCount]);
  return {
    name,
    id: container.id,
    sandboxId: container.pod_sandbox_id,
    attempt,
    restartCount: Number.isInteger(counted) ? counted : attempt,
    state: states.get(status?.state ?? container.state) ?? "unknown",
    createdAt: Math.floor(container.created_at / 1e6),
    startedAt: Math.floor((status?.started_at ?? 0) / 1e6),
    exitCode: status?.exit_code ?? 0,
    hash: container.annotations[annotations.hash] ?? "",
    annotations: container.annotations,
  };
}
