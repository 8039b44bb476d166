import { join } from "node:path";
import t, { type Test } from "tap";
import { type Client, systemClock } from "../../kube/index.ts";
import { metaAnnotation } from "../../node/index.ts";
import { methods } from "../../proto/cri/index.ts";
import { temporaryFolder, testContext } from "../../testkit/agent/context_fixture.ts";
import { startFakeCri } from "../../testkit/cri/fake_cri.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { fakeServer } from "../../testkit/kube/fake_server.ts";
import { createCriClient } from "../cri/client.ts";
import { startContainerMeta } from "./feature.ts";

/** The pod of a CloneSet with one container, as the API server has it. `asked`: it is held for a new environment. */
function podJson(containerId: string, asked = false): object {
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
      labels: { k: "bar" },
      annotations: asked ? { [metaAnnotation]: metaOf(containerId) } : {},
    },
    spec: { nodeName: "node-1", containers: [{ name: "main", image: "nginx:1", ...(asked ? { env } : {}) }] },
    status: {
      phase: "Running",
      conditions: [{ type: "InPlaceUpdateReady", status: asked ? "False" : "True" }],
      containerStatuses: [
        { name: "main", containerID: `containerd://${containerId}`, ready: true, state: { running: {} } },
      ],
    },
  };
}

const env = [{ name: "TEST_ENV", valueFrom: { fieldRef: { fieldPath: "metadata.labels['k']" } } }];

/** The container runs with the value `foo`. */
function metaOf(containerId: string): string {
  const hashes = { plainHash: 255, extractedEnvFromMetadataHash: 27323935 };
  const containerID = `containerd://${containerId}`;
  return JSON.stringify({ containers: [{ name: "main", containerID, restartCount: 0, hashes }] });
}

/** Answers lists with this one pod; `patched` is called with each body. */
function serverWith(pod: object, patched: (body: object) => void): Client {
  return {
    ...fakeServer({ streamingLists: false }).client,
    list: async (resource) => {
      const item = resource.codec.decode(Buffer.from(JSON.stringify(pod)), "application/json");
      return { items: [item], resourceVersion: "5", continue: "", undecodable: [] };
    },
    async patch(resource, _, { body }) {
      patched(body);
      return resource.codec.decode(Buffer.from(JSON.stringify(pod)), "application/json");
    },
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
  return { client, containerId: made.container_id, socket, fake };
}

t.test("pods and a runtime that were there before it began are reported", async (t) => {
  const folder = await temporaryFolder(t);
  const { client: runtime, containerId, socket } = await runtimeWithContainer(t, folder);
  const patch = Promise.withResolvers<object>();
  const found = { client: runtime, name: "containerd", version: "1", socket };
  const client = serverWith(podJson(containerId), patch.resolve);
  const context = testContext(t, { client }, folder, found);
  await context.pods.synced;
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

t.test(
  "a container is stopped for a new environment when no kubelet can start it with the old one",
  async (t) => {
    const folder = await temporaryFolder(t);
    const { client: runtime, containerId, socket, fake } = await runtimeWithContainer(t, folder);
    const clock = testClock();
    let stoppedAt: number | undefined;
    fake.runtime.onEvent = () => {
      stoppedAt ??= clock.monotonic();
    };
    const found = { client: runtime, name: "containerd", version: "1", socket };
    const client = serverWith(podJson(containerId, true), () => undefined);
    const context = testContext(t, { client, clock }, folder, found);
    await context.pods.synced;
    const feature = startContainerMeta(context);
    t.teardown(() => feature.stop());
    while (stoppedAt === undefined) {
      // Calls of the runtime take real time.
      await systemClock.sleep(20);
      await clock.advance(100);
    }
    t.ok(stoppedAt >= 2_000, `it was stopped after ${stoppedAt} ms`);
  },
);
