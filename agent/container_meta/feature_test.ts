import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import {
  type Client,
  createEvents,
  createMetrics,
  createRegistry,
  KubeError,
  nullLog,
  systemClock,
} from "../../kube/index.ts";
import { methods } from "../../proto/cri/index.ts";
import { createRecreator } from "../containers/recreator.ts";
import type { AgentContext } from "../context.ts";
import { createCriClient } from "../cri/client.ts";
import { startFakeCri } from "../cri/fake_server.ts";
import { createAgentMetrics } from "../metrics.ts";
import { startPodWatch } from "../pod_watch.ts";
import type { RuntimeFinder } from "../runtime_socket/finder.ts";
import { agentSettings } from "../settings.ts";
import { createStateStore } from "../state/store.ts";
import { startContainerMeta } from "./feature.ts";

/** The pod of a CloneSet with one container, as the API server has it. */
function podJson(containerId: string): object {
  const owner = {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "CloneSet",
    name: "web",
    uid: "o",
    controller: true,
  };
  return {
    metadata: {
      name: "web-1",
      namespace: "default",
      uid: "u1",
      resourceVersion: "5",
      ownerReferences: [owner],
    },
    spec: { nodeName: "node-1", containers: [{ name: "main", image: "nginx:1" }] },
    status: {
      phase: "Running",
      containerStatuses: [
        { name: "main", containerID: `containerd://${containerId}`, ready: true, state: { running: {} } },
      ],
    },
  };
}

/** Answers lists with this one pod; `patched` is told each body. */
function serverWith(pod: object, patched: (body: object) => void): Client {
  const notFound = async (): Promise<never> => {
    throw new KubeError("NotFound", "not found");
  };
  return {
    get: notFound,
    list: async (resource) => {
      const item = resource.codec.decode(Buffer.from(JSON.stringify(pod)), "application/json");
      return { items: [item], resourceVersion: "5", continue: "", undecodable: [] };
    },
    create: notFound,
    replace: notFound,
    async patch(resource, _, { body }) {
      patched(body);
      return resource.codec.decode(Buffer.from(JSON.stringify(pod)), "application/json");
    },
    delete: notFound,
    async watch(_, { signal, sendInitialEvents }) {
      if (sendInitialEvents) throw new KubeError("Invalid", "sendInitialEvents: Forbidden", { status: 422 });
      return (async function* () {
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      })();
    },
    request: notFound,
    close: async () => undefined,
  };
}

async function runtimeWithContainer(t: Test, folder: string) {
  const socket = join(folder, "c.sock");
  const fake = await startFakeCri({ socket, clock: systemClock });
  t.teardown(() => fake.stop());
  const client = createCriClient(socket, { clock: systemClock });
  t.teardown(() => client.close());
  fake.runtime.addImage("nginx:1", "sha256:01");
  const { pod_sandbox_id } = await client.call(methods.RunPodSandbox, {
    config: { metadata: { name: "web-1", uid: "u1", namespace: "default" } },
  });
  const made = await client.call(methods.CreateContainer, {
    pod_sandbox_id,
    config: {
      metadata: { name: "main", attempt: 0 },
      image: { image: "sha256:01" },
      labels: { "io.kubernetes.container.name": "main", "io.kubernetes.pod.uid": "u1" },
      annotations: { "io.kubernetes.container.hash": "ff" },
    },
  });
  await client.call(methods.StartContainer, made);
  return { client, containerId: made.container_id, socket };
}

t.test("pods and a runtime that were there before it began are reported", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "refit-meta-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const { client: runtime, containerId, socket } = await runtimeWithContainer(t, folder);
  const patch = Promise.withResolvers<object>();
  const registry = createRegistry();
  const shared = {
    client: serverWith(podJson(containerId), patch.resolve),
    clock: systemClock,
    random: () => 0.5,
    log: nullLog,
    metrics: createMetrics(registry),
  };
  const pods = startPodWatch({ ...shared, nodeName: "node-1", enabled: true });
  t.teardown(() => pods.stop());
  await pods.synced;
  const finder: RuntimeFinder = {
    current: { client: runtime, name: "containerd", version: "1", socket },
    reason: "",
    searched: true,
    subscribe: () => () => undefined,
    suspect: () => undefined,
    stop: async () => undefined,
  };
  const context: AgentContext = {
    ...shared,
    settings: agentSettings([], { NODE_NAME: "node-1" }, () => false),
    agentMetrics: createAgentMetrics(registry),
    events: createEvents(shared),
    finder,
    state: createStateStore(folder, nullLog),
    pods,
    recreator: createRecreator({ ...shared, startedBy: "kubelet", pods }),
  };
  const feature = startContainerMeta(context);
  t.teardown(() => feature.stop());
  t.match(await patch.promise, {
    metadata: {
      uid: "u1",
      annotations: {
        "apps.kruise.io/runtime-containers-meta": new RegExp(`"containerd://${containerId}".*:255`),
      },
    },
  });
});
