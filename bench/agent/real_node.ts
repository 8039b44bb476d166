/** Restarts and image swaps of a pod on a real node: by the kubelet and by the agent, in turns on the same node. */
import { type CriClient, createCriClient } from "../../agent/index.ts";
import { type Client, isJsonObject, jsonResource, type KubeObject } from "../../kube/index.ts";
import { ContainerState, methods } from "../../proto/cri/index.ts";
import { BenchError } from "../errors.ts";
import type { BenchIo } from "../io.ts";

export interface RealNode {
  readonly client: Client;
  readonly socket: string;
  readonly node: string;
  /** Two images that are on the node; containers of both run until SIGTERM. */
  readonly images: readonly [string, string];
  readonly rounds: number;
}

export interface Turn {
  readonly what: "restart" | "swap";
  readonly by: "kubelet" | "agent";
  /** 1 is the first of its pod; the kubelet's back-off shows from the second on. */
  readonly round: number;
  /** From the request until the new container is running and ready. */
  readonly readyMs: number;
  /** Longest time without a running container, looked at every 5 ms. */
  readonly gapMs: number;
}

interface Pod extends KubeObject {
  readonly status?: {
    readonly containerStatuses?: readonly {
      readonly containerID?: string;
      readonly ready: boolean;
      readonly restartCount: number;
    }[];
  };
}
const core = { group: "", version: "v1" } as const;
const pods = jsonResource<Pod>({ ...core, plural: "pods", kind: "Pod", namespaced: true });
const requests = jsonResource<KubeObject>({
  group: "apps.kruise.io",
  version: "v1beta1",
  plural: "containerrecreaterequests",
  kind: "ContainerRecreateRequest",
  namespaced: true,
});
const namespace = "default";
const longestMs = 180_000;

export async function measureNode(at: RealNode, io: BenchIo): Promise<Turn[]> {
  const cri = createCriClient(at.socket, { clock: io.clock });
  const turns: Turn[] = [];
  const run = `bench-agent-${Math.floor(io.clock.now() / 1000)}`;
  const sides = (["kubelet", "agent"] as const).flatMap((by) =>
    (["restart", "swap"] as const).map((what) => ({ by, what, name: `${run}-${what}-${by}` })),
  );
  try {
    for (const { name, by } of sides) await create(at, name, by === "agent");
    for (const { name } of sides) await settled(at.client, name, "", io);
    for (let round = 1; round <= at.rounds; round++) {
      for (const { by, what, name } of sides) {
        io.note(`${what} ${round} of ${at.rounds} by the ${by}`);
        turns.push({ what, by, round, ...(await turn(at, cri, { by, what, name, round }, io)) });
      }
    }
    return turns;
  } finally {
    cri.close();
    for (const { name } of sides) await at.client.delete(pods, { namespace, name }).catch(() => undefined);
  }
}

async function create(at: RealNode, name: string, direct: boolean): Promise<void> {
  await at.client.create(pods, namespace, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, annotations: direct ? { "agent.refit/direct-swap": "true" } : {} },
    spec: {
      nodeName: at.node,
      terminationGracePeriodSeconds: 5,
      containers: [{ name: "app", image: at.images[0], imagePullPolicy: "IfNotPresent" }],
    },
  });
}

interface Order {
  readonly by: Turn["by"];
  readonly what: Turn["what"];
  readonly name: string;
  readonly round: number;
}

async function turn(
  at: RealNode,
  cri: CriClient,
  order: Order,
  io: BenchIo,
): Promise<Pick<Turn, "readyMs" | "gapMs">> {
  const before = await settled(at.client, order.name, "", io);
  const watching = new AbortController();
  const gap = longestGap(cri, before.metadata.uid ?? "", watching.signal, io);
  const began = io.clock.monotonic();
  try {
    await trigger(at, cri, order, before);
    await settled(at.client, order.name, containerOf(before), io);
    return { readyMs: io.clock.monotonic() - began, gapMs: await end(watching, gap) };
  } finally {
    await end(watching, gap);
  }
}

async function end(watching: AbortController, gap: Promise<number>): Promise<number> {
  watching.abort();
  return gap;
}

async function trigger(at: RealNode, cri: CriClient, order: Order, before: Pod): Promise<void> {
  const { name } = order;
  if (order.what === "swap") {
    const value = at.images[order.round % 2] ?? at.images[0];
    const body = [{ op: "replace", path: "/spec/containers/0/image", value }] as const;
    await at.client.patch(pods, { namespace, name }, { type: "json", body });
    return;
  }
  const containerID = containerOf(before);
  if (order.by === "kubelet") {
    // All that an agent without containers of its own can do: end it, and leave the start to the kubelet.
    await cri.call(methods.StopContainer, { container_id: containerID.split("//")[1] ?? "", timeout: 5 });
    return;
  }
  await at.client.create(requests, namespace, {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ContainerRecreateRequest",
    metadata: {
      name: `${name}-${order.round}`,
      labels: {
        "crr.apps.kruise.io/node-name": at.node,
        "crr.apps.kruise.io/pod-uid": before.metadata.uid ?? "",
        "crr.apps.kruise.io/active": "true",
      },
    },
    spec: {
      podName: name,
      ttlSecondsAfterFinished: 5,
      containers: [
        {
          name: "app",
          statusContext: {
            containerID,
            restartCount: before.status?.containerStatuses?.[0]?.restartCount ?? 0,
          },
        },
      ],
    },
  });
}

function containerOf(pod: Pod): string {
  return pod.status?.containerStatuses?.[0]?.containerID ?? "";
}

/** The pod when it is ready in another container than `not`. */
async function settled(client: Client, name: string, not: string, io: BenchIo): Promise<Pod> {
  const until = io.clock.monotonic() + longestMs;
  while (io.clock.monotonic() < until) {
    const pod = await client.get(pods, { namespace, name });
    const status = pod.status?.containerStatuses?.[0];
    if (status?.ready && containerOf(pod) !== "" && containerOf(pod) !== not) return pod;
    await io.clock.sleep(20, io.signal);
  }
  throw new BenchError(`pod ${name} was not ready within ${longestMs / 1000} s`);
}

async function longestGap(cri: CriClient, uid: string, signal: AbortSignal, io: BenchIo): Promise<number> {
  const filter = { label_selector: { "io.kubernetes.pod.uid": uid } };
  let longest = 0;
  let last = io.clock.monotonic();
  while (!signal.aborted) {
    const { containers } = await cri.call(methods.ListContainers, { filter });
    const now = io.clock.monotonic();
    longest = Math.max(longest, now - last);
    if (containers.some((one) => one.state === ContainerState.CONTAINER_RUNNING)) last = now;
    await io.clock.sleep(5, signal).catch(() => undefined);
  }
  return longest;
}

/** The agent that runs there must be allowed to swap. */
export async function nodeRuntime(client: Client, name: string): Promise<string> {
  const nodes = jsonResource<KubeObject & { readonly status?: unknown }>({
    ...core,
    plural: "nodes",
    kind: "Node",
    namespaced: false,
  });
  const { status } = await client.get(nodes, { name });
  const info = isJsonObject(status) ? status["nodeInfo"] : undefined;
  return isJsonObject(info) ? String(info["containerRuntimeVersion"] ?? "") : "";
}
