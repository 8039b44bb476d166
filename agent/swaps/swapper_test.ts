import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { nullLog, plainHash, systemClock } from "../../kube/index.ts";
import { type AgentPod, agentPod, swapAnnotation } from "../../node/index.ts";
import { ContainerState, methods } from "../../proto/cri/index.ts";
import { type FakeCri, startFakeCri } from "../../testkit/cri/fake_cri.ts";
import { ContainerRestarter } from "../containers/restarter.ts";
import { createCriClient } from "../cri/client.ts";
import { Swapper } from "./swapper.ts";

const uid = "pod-uid-1";

function pod(
  images: Readonly<Record<string, string>>,
  more: {
    seen?: boolean;
    secrets?: boolean;
    cpu?: string;
  } = {},
): AgentPod {
  return agentPod({
    status: {
      observedGeneration: more.seen === false ? 1 : 2,
      containerStatuses: Object.keys(images).map((name) => ({
        name,
        resources: { requests: { cpu: "10m" } },
      })),
    },
    metadata: {
      name: "web",
      namespace: "default",
      uid,
      generation: 2,
      annotations: { [swapAnnotation]: "true" },
    },
    spec: {
      terminationGracePeriodSeconds: 5,
      ...(more.secrets ? { imagePullSecrets: [{ name: "registry" }] } : {}),
      containers: Object.entries(images).map(([name, image]) => ({
        name,
        image,
        imagePullPolicy: "IfNotPresent",
        resources: { requests: { cpu: more.cpu ?? "0.010" } },
      })),
    },
  });
}

interface Scene {
  readonly fake: FakeCri;
  readonly swapper: Swapper;
  present: AgentPod;
  readonly swaps: string[];
  change(next: AgentPod): void;
  running(
    name: string,
  ): { attempt: number | undefined; image: string | undefined; hash: string | undefined }[];
}

async function scene(
  t: Test,
  names: readonly string[],
  more: { kubelet?: string; secrets?: boolean } = {},
): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), "refit-swap-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const socket = join(folder, "c.sock");
  const fake = await startFakeCri({ socket, clock: systemClock });
  t.teardown(() => fake.stop());
  const client = createCriClient(socket, { clock: systemClock });
  t.teardown(() => client.close());
  for (const version of [1, 2, 3]) fake.runtime.addImage(`nginx:${version}`, `sha256:0${version}`);
  const config = { metadata: { name: "web", uid, namespace: "default" } };
  const { pod_sandbox_id } = await client.call(methods.RunPodSandbox, { config });
  for (const name of names) {
    const made = await client.call(methods.CreateContainer, {
      pod_sandbox_id,
      config: {
        metadata: { name, attempt: 0 },
        image: { image: "sha256:01" },
        labels: { "io.kubernetes.container.name": name, "io.kubernetes.pod.uid": uid },
        annotations: { "io.kubernetes.container.hash": plainHash(name, "nginx:1").toString(16) },
      },
    });
    await client.call(methods.StartContainer, made);
  }
  const swaps: string[] = [];
  const agentMetrics = { killed: (reason: string, by: string) => swaps.push(`${reason} ${by}`) };
  const pods = { subscribe: () => () => undefined, byUid: () => s.present };
  const s: Scene = {
    fake,
    swaps,
    present: pod(Object.fromEntries(names.map((name) => [name, "nginx:1"]))),
    swapper: new Swapper({
      clock: systemClock,
      log: nullLog,
      agentMetrics,
      finder: { current: { client, name: "containerd", version: "1", socket } },
      pods,
      restarter: new ContainerRestarter({
        clock: systemClock,
        log: nullLog,
        agentMetrics,
        events: { from: () => ({ event: () => undefined }) },
        startedBy: "agent",
        pods,
        kubeletVersion: async () => more.kubelet ?? "v1.34.4",
      }),
    }),
    change(next) {
      const before = s.present;
      s.present = next;
      s.swapper.changed(before, next);
    },
    running: (name) =>
      [...fake.runtime.containers.values()]
        .filter((one) => one.config.metadata?.name === name && one.state === ContainerState.CONTAINER_RUNNING)
        .map(({ config }) => ({
          attempt: config.metadata?.attempt,
          image: config.image?.image,
          hash: config.annotations["io.kubernetes.container.hash"],
        })),
  };
  return s;
}

t.test("the new image runs as the next attempt, with the hash that the kubelet expects", async (t) => {
  const s = await scene(t, ["app"]);
  s.change(pod({ app: "nginx:2" }));
  await s.swapper.idle();
  t.same(s.running("app"), [
    { attempt: 1, image: "sha256:02", hash: plainHash("app", "nginx:2").toString(16) },
  ]);
  t.same(s.swaps, ["swap agent"]);
  s.change(pod({ app: "nginx:1" }));
  await s.swapper.idle();
  t.match(s.running("app"), [{ attempt: 2, image: "sha256:01" }]);
});

t.test("containers of a pod are swapped at the same time", async (t) => {
  const names = ["a", "b", "c", "d"];
  const s = await scene(t, names);
  for (const name of names) s.fake.runtime.stopMs.set(name, 200);
  let most = 0;
  s.fake.runtime.onEvent = (event) => {
    if (event.type !== 2) return;
    const stopped = [...s.fake.runtime.containers.values()].filter(
      (one) => one.state === ContainerState.CONTAINER_EXITED,
    );
    most = Math.max(most, stopped.length - s.swaps.length);
  };
  s.change(pod(Object.fromEntries(names.map((name) => [name, "nginx:2"]))));
  await s.swapper.idle();
  for (const name of names) t.match(s.running(name), [{ attempt: 1, image: "sha256:02" }]);
  t.ok(most > 1, `${most} were down together: their stops ran side by side`);
});

t.test("a change during a swap is followed by another swap", async (t) => {
  const s = await scene(t, ["app"]);
  s.fake.runtime.stopMs.set("app", 100);
  s.change(pod({ app: "nginx:2" }));
  s.change(pod({ app: "nginx:3" }));
  await s.swapper.idle();
  t.match(s.running("app"), [{ image: "sha256:03" }]);
  t.equal(s.running("app").length, 1);
});

t.test("the kubelet was first: nothing is stopped twice, one container runs", async (t) => {
  const s = await scene(t, ["app"]);
  s.fake.runtime.onEvent = (event) => {
    if (event.type !== 2) return;
    s.fake.runtime.onEvent = () => undefined;
    const old = s.fake.runtime.containers.get(event.containerId);
    if (!old) return;
    const annotations = { "io.kubernetes.container.hash": plainHash("app", "nginx:2").toString(16) };
    const config = {
      ...old.config,
      metadata: { name: "app", attempt: 1 },
      image: { ...old.config.image, image: "sha256:02" },
      annotations,
    };
    s.fake.runtime.start(s.fake.runtime.create(old.sandboxId, JSON.parse(JSON.stringify(config))));
  };
  s.change(pod({ app: "nginx:2" }));
  await s.swapper.idle();
  t.match(s.running("app"), [{ attempt: 1, image: "sha256:02" }]);
  t.equal(s.running("app").length, 1);
  t.same(s.swaps, ["swap kubelet"]);
});

t.test("without the image on the node the kubelet does it", async (t) => {
  const s = await scene(t, ["app"]);
  s.change(pod({ app: "nginx:9" }));
  await s.swapper.idle();
  t.match(s.running("app"), [{ attempt: 0, image: "sha256:01" }]);
  t.equal(s.fake.calls.get("StopContainer"), undefined);
});

t.test("an image that the kubelet may not give to the pod is left to it", async (t) => {
  const cases = [
    { kubelet: "v1.34.4", secrets: true },
    { kubelet: "v1.35.0", secrets: false },
    { kubelet: "", secrets: false },
  ];
  for (const more of cases) {
    const s = await scene(t, ["app"], more);
    s.change(pod({ app: "nginx:2" }, more));
    await s.swapper.idle();
    t.match(s.running("app"), [{ attempt: 0, image: "sha256:01" }], JSON.stringify(more));
    t.equal(s.fake.calls.get("StopContainer"), undefined);
  }
});

t.test("back to an image that a container of the pod had before, whatever the kubelet checks", async (t) => {
  const more = { kubelet: "v1.35.0", secrets: true };
  const s = await scene(t, ["app"], more);
  const { runtime } = s.fake;
  // The kubelet made the first change.
  for (const old of [...runtime.containers.values()]) {
    runtime.exit(old.id, 0);
    const annotations = { "io.kubernetes.container.hash": plainHash("app", "nginx:2").toString(16) };
    const image = { ...old.config.image, image: "sha256:02" };
    const config = { ...old.config, metadata: { name: "app", attempt: 1 }, image, annotations };
    runtime.start(runtime.create(old.sandboxId, JSON.parse(JSON.stringify(config))));
  }
  s.present = pod({ app: "nginx:2" }, more);
  s.change(pod({ app: "nginx:1" }, more));
  await s.swapper.idle();
  t.match(s.running("app"), [{ attempt: 2, image: "sha256:01" }]);
});

t.test("a container that is being resized is left to the kubelet, which knows its new amounts", async (t) => {
  const s = await scene(t, ["app"]);
  s.change(pod({ app: "nginx:2" }, { cpu: "60m" }));
  await s.swapper.idle();
  t.match(s.running("app"), [{ attempt: 0, image: "sha256:01" }]);
  t.equal(s.fake.calls.get("StopContainer"), undefined);
});

/** The name of the attempt after the next one is held: the swap is prepared. */
async function untilPrepared({ fake }: Scene): Promise<void> {
  const held = (): boolean =>
    [...fake.runtime.containers.values()].some(({ config }) => config.labels["agent.refit/placeholder"]);
  while (!held()) await systemClock.sleep(5);
}

t.test("nothing is stopped before the kubelet has seen the new spec", async (t) => {
  const s = await scene(t, ["app"]);
  s.change(pod({ app: "nginx:2" }, { seen: false }));
  await untilPrepared(s);
  t.match(s.running("app"), [{ attempt: 0 }]);
  t.equal(s.fake.calls.get("StopContainer"), undefined);
  s.change(pod({ app: "nginx:2" }));
  await s.swapper.idle();
  t.match(s.running("app"), [{ attempt: 1, image: "sha256:02" }]);
});

t.test("the kubelet's stop is as good as its word: what it stopped is started at once", async (t) => {
  const s = await scene(t, ["app"]);
  s.change(pod({ app: "nginx:2" }, { seen: false }));
  await untilPrepared(s);
  for (const one of s.fake.runtime.containers.values())
    if (one.state === ContainerState.CONTAINER_RUNNING) one.state = ContainerState.CONTAINER_EXITED;
  await s.swapper.idle();
  t.match(s.running("app"), [{ attempt: 1, image: "sha256:02" }]);
  t.equal(s.fake.calls.get("StopContainer"), undefined);
});

t.test("a container that did not run before shows nothing of the kubelet", async (t) => {
  const s = await scene(t, ["app"]);
  for (const one of s.fake.runtime.containers.values()) one.state = ContainerState.CONTAINER_EXITED;
  s.change(pod({ app: "nginx:2" }, { seen: false }));
  await untilPrepared(s);
  s.change({ ...s.present, labels: { other: "news" } });
  t.same(s.running("app"), []);
  s.change(pod({ app: "nginx:2" }));
  await s.swapper.idle();
  t.match(s.running("app"), [{ attempt: 1, image: "sha256:02" }]);
});

t.test("a change back before the kubelet knows leaves nothing behind", async (t) => {
  const s = await scene(t, ["app"]);
  s.change(pod({ app: "nginx:2" }, { seen: false }));
  await untilPrepared(s);
  s.change(pod({ app: "nginx:1" }, { seen: false }));
  await s.swapper.idle();
  t.match(s.running("app"), [{ attempt: 0, image: "sha256:01" }]);
  t.equal(s.fake.runtime.containers.size, 1, "no placeholder is left");
});
