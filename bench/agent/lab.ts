/** A real node under measurement: its API server and controller, its runtime, and the pods that are made on it. */
import { type CriClient, createCriClient } from "../../agent/index.ts";
import { type Client, isJsonObject, jsonResource, type KubeObject, seededRandom } from "../../kube/index.ts";
import { connect } from "../connection.ts";
import { BenchError } from "../errors.ts";
import type { BenchIo } from "../io.ts";
import { startOwnManager } from "../manager.ts";
import { type Pod, pods, readyContainers, type WatchedObjects, watchObjects } from "./watched_objects.ts";

export interface NodeSocket {
  readonly node: string;
  readonly socket: string;
}

export interface LabSettings {
  readonly kubeconfig: string;
  /** The first is the one whose pods are swapped and restarted; pulls go to all. */
  readonly nodes: readonly [NodeSocket, ...NodeSocket[]];
  /** Two images that are on the node; containers of both run until SIGTERM. */
  readonly images: readonly [string, string];
}

export interface Recreate extends KubeObject {
  readonly spec?: object;
  readonly status?: { readonly phase?: string };
}
export const requests = jsonResource<Recreate>({
  group: "apps.kruise.io",
  version: "v1beta1",
  plural: "containerrecreaterequests",
  kind: "ContainerRecreateRequest",
  namespaced: true,
});

const nodeObjects = jsonResource<KubeObject & { readonly status?: unknown }>({
  group: "",
  version: "v1",
  plural: "nodes",
  kind: "Node",
  namespaced: false,
});

export type By = "kubelet" | "agent";

export interface PodOrder {
  readonly name: string;
  readonly by: By;
  readonly containers: 1 | 4;
  /** How long each container takes to stop; 0: it ends at once. */
  readonly stopSeconds?: number;
}

export const namespace = "default";

export class Lab {
  readonly client: Client;
  readonly cri: CriClient;
  readonly io: BenchIo;
  readonly settings: LabSettings;
  readonly pods: WatchedObjects<Pod>;
  readonly requests: WatchedObjects<Recreate>;
  readonly runtime: string;
  readonly #closing: (() => Promise<void> | void)[];
  readonly #made = new Set<string>();

  private constructor(
    parts: Pick<Lab, "client" | "cri" | "io" | "settings" | "pods" | "requests" | "runtime">,
    closing: (() => Promise<void> | void)[],
  ) {
    this.client = parts.client;
    this.cri = parts.cri;
    this.io = parts.io;
    this.settings = parts.settings;
    this.pods = parts.pods;
    this.requests = parts.requests;
    this.runtime = parts.runtime;
    this.#closing = closing;
  }

  /** Starts a controller of its own: pods pass its webhooks, and pull jobs are its work. */
  static async open(settings: LabSettings, io: BenchIo): Promise<Lab> {
    const { clock, signal } = io;
    const closing: (() => Promise<void> | void)[] = [];
    try {
      const random = seededRandom(1);
      const { client } = await connect({ clock, random }, settings.kubeconfig);
      closing.push(() => client.close());
      const [{ node, socket }] = settings.nodes;
      const runtime = await nodeRuntime(client, node);
      const { kubeconfig } = settings;
      const manager = await startOwnManager({
        entry: io.controller,
        kubeconfig,
        uninstall: false,
        gates: "ImagePullJobGate=true",
        clock,
        random,
        signal,
      });
      closing.push(() => manager.stop());
      const cri = createCriClient(socket, { clock });
      closing.push(() => cri.close());
      const seenPods = await watchObjects(client, pods, namespace, io);
      closing.push(() => seenPods.stop());
      const seenRequests = await watchObjects(client, requests, namespace, io);
      closing.push(() => seenRequests.stop());
      return new Lab({ client, cri, io, settings, pods: seenPods, requests: seenRequests, runtime }, closing);
    } catch (error) {
      for (const close of closing.reverse()) await close();
      throw error;
    }
  }

  /** Makes a pod and resolves when its containers are ready. */
  async makePod({ name, by, containers, stopSeconds = 0 }: PodOrder): Promise<Pod> {
    this.#made.add(name);
    const slow =
      stopSeconds === 0
        ? {}
        : { command: ["sh", "-c", `trap 'sleep ${stopSeconds}; exit 0' TERM; sleep 2147483647 & wait $!`] };
    await this.client.create(pods, namespace, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, annotations: by === "agent" ? { "agent.refit/direct-swap": "true" } : {} },
      spec: {
        nodeName: this.settings.nodes[0].node,
        terminationGracePeriodSeconds: 5,
        containers: ["app", "b", "c", "d"].slice(0, containers).map((container) => ({
          name: container,
          image: this.settings.images[0],
          imagePullPolicy: "IfNotPresent",
          ...slow,
        })),
      },
    });
    const { object } = await this.pods.until(name, "ready", (pod) => readyContainers(pod) !== undefined);
    return object;
  }

  async removePod(name: string): Promise<void> {
    this.#made.delete(name);
    await this.client.delete(pods, { namespace, name }).catch(() => undefined);
  }

  /** Gives all containers of the pod another image, in one patch. */
  async setImage(pod: Pod, image: string): Promise<Pod> {
    const { name = "" } = pod.metadata;
    const body = (pod.spec?.containers ?? []).map((_, index) => ({
      op: "replace" as const,
      path: `/spec/containers/${index}/image`,
      value: image,
    }));
    return this.client.patch(pods, { namespace, name }, { type: "json", body });
  }

  /** When all containers are ready, each is another one than in `before`, and the kubelet knows `generation`. */
  async untilReplaced(before: Pod, generation = 0): Promise<{ object: Pod; at: number }> {
    const old = readyContainers(before) ?? new Map<string, string>();
    return this.pods.until(before.metadata.name ?? "", "ready in new containers", (pod) => {
      const now = readyContainers(pod);
      if (now === undefined || (pod.status?.observedGeneration ?? 0) < generation) return false;
      return [...now].every(([name, id]) => old.get(name) !== id);
    });
  }

  async close(): Promise<void> {
    for (const name of this.#made) await this.removePod(name);
    for (const close of this.#closing.splice(0).reverse()) await close();
  }
}

async function nodeRuntime(client: Client, name: string): Promise<string> {
  const { status } = await client.get(nodeObjects, { name });
  const info = isJsonObject(status) ? status["nodeInfo"] : undefined;
  const runtime = isJsonObject(info) ? info["containerRuntimeVersion"] : undefined;
  if (typeof runtime !== "string") throw new BenchError(`the node ${name} does not say what its runtime is`);
  return runtime;
}
