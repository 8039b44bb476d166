import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { plainHash } from "../../kube/index.ts";
import { ContainerState } from "../../proto/cri/index.ts";
import { hollowLabel } from "../../sandbox/index.ts";
import type { FakeCri } from "../../testkit/cri/fake_cri.ts";
import type { Item } from "../cluster/api.ts";
import { eventually, type NodeUnderTest, node, recreateRequests, startFake, startNode } from "./fixture.ts";

/** Where the agent is killed: while the runtime is busy with one of these. */
const moments = ["StopContainer", "CreateContainer", "StartContainer"] as const;
type Moment = (typeof moments)[number];
const { CONTAINER_RUNNING: running, CONTAINER_EXITED: exited } = ContainerState;

for (const moment of moments) {
  t.test(`killed during ${moment} of a restart: it is completed once`, (t) => restart(t, moment));
  t.test(`killed during ${moment} of a swap: the kubelet finds no obstacle`, (t) => swap(t, moment));
}

async function restart(t: Test, moment: Moment): Promise<void> {
  const scene = await podOnNode(t);
  const { under, fake, kubelet } = scene;
  await under.agent.start();
  await under.agent.ready();
  await under.api.create(
    {
      apiVersion: "apps.kruise.io/v1beta1",
      kind: "ContainerRecreateRequest",
      metadata: {
        name: "again",
        labels: {
          "crr.apps.kruise.io/node-name": node,
          "crr.apps.kruise.io/pod-uid": scene.pod.metadata.uid,
          "crr.apps.kruise.io/active": "true",
        },
      },
      spec: {
        podName: "web",
        containers: [
          { name: "app", statusContext: { containerID: `containerd://${scene.firstId}`, restartCount: 0 } },
        ],
        strategy: { failurePolicy: "Fail" },
      },
    },
    "default",
  );
  await killDuring(under, fake, moment);
  kubelet.takesOverMs = 2_000;
  await under.agent.start();
  await eventually("Completed", async () => {
    const { status } = await under.api.get(recreateRequests, "again", "default");
    return status?.["phase"] === "Completed";
  });
  const { status } = await under.api.get(recreateRequests, "again", "default");
  t.match(status?.["containerRecreateStates"], [{ name: "app", phase: "Succeeded" }]);
  await settled(t, scene, "nginx:1");
  // What was created and never started is the kubelet's: it makes the attempt after it.
  t.equal(newestOf(fake)?.attempt, moment === "StartContainer" ? 2 : 1, "it was restarted once");
}

async function swap(t: Test, moment: Moment): Promise<void> {
  const scene = await podOnNode(t);
  const { under, fake, kubelet } = scene;
  fake.runtime.addImage("nginx:2", "sha256:22");
  await under.agent.start("--direct-swap");
  await under.agent.ready();
  kubelet.image = "nginx:2";
  const image = [{ op: "replace", path: "/spec/containers/0/image", value: "nginx:2" }];
  const { metadata } = await under.api.patch("pods", "web", "default", "json", image);
  await kubelet.report({ observedGeneration: metadata.generation });
  await killDuring(under, fake, moment);
  await under.agent.start("--direct-swap");
  kubelet.takesOverMs = 500;
  await settled(t, scene, "nginx:2");
}

/** Lets the agent get into a call that does not end, kills it there, and lets the runtime work again. */
async function killDuring(under: NodeUnderTest, fake: FakeCri, moment: Moment): Promise<void> {
  const before = fake.calls.get(moment) ?? 0;
  // The placeholder is created first; the second creation is the container's next attempt.
  const wanted = moment === "CreateContainer" ? before + 2 : before + 1;
  fake.faults.set(moment, { kind: "hang", from: wanted });
  await eventually(moment, async () => (fake.calls.get(moment) ?? 0) >= wanted);
  await under.agent.kill();
  fake.faults.clear();
}

/** One running instance, of the wanted image, and nothing of the agent's left over. */
async function settled(t: Test, { fake }: Scene, image: string): Promise<void> {
  const own = () =>
    [...fake.runtime.containers.values()].filter((one) => one.config.metadata?.name === "app");
  await eventually("one instance runs", async () => {
    const live = own().filter((one) => one.state === running);
    return live.length === 1 && live[0]?.config.annotations["io.kubernetes.container.hash"] === hashOf(image);
  });
  await eventually("no placeholder is left", async () =>
    [...fake.runtime.containers.values()].every(
      ({ config }) => config.labels["agent.refit/placeholder"] === undefined,
    ),
  );
  await sleep(500);
  const states = own().map((one) => one.state);
  t.equal(states.filter((state) => state === running).length, 1, "and it stays one");
}

interface Scene {
  readonly under: NodeUnderTest;
  readonly fake: FakeCri;
  readonly kubelet: Kubelet;
  readonly pod: Item;
  readonly firstId: string;
}

const hashOf = (image: string): string => plainHash("app", image).toString(16);

async function podOnNode(t: Test): Promise<Scene> {
  const under = await startNode(t);
  const fake = await startFake(t, under);
  const container = { name: "app", image: "nginx:1", imagePullPolicy: "IfNotPresent" };
  const manifest = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", annotations: { "agent.refit/direct-swap": "true" } },
    spec: { nodeName: node, terminationGracePeriodSeconds: 5, containers: [container] },
  };
  // Pods of nodes that do not exist are collected as garbage; this one is not for the sandbox to simulate.
  const labels = { [hollowLabel]: "false" };
  await under.api.create({ apiVersion: "v1", kind: "Node", metadata: { name: node, labels } });
  // A newer one has a say in which images a pod may have.
  const status = { nodeInfo: { kubeletVersion: "v1.34.4" } };
  await under.api.patch("nodes", node, undefined, "merge", { status }, "status");
  const pod = await under.api.create(manifest, "default");
  fake.runtime.addImage("nginx:1", "sha256:11");
  const kubelet = new Kubelet(under, fake, pod);
  const firstId = kubelet.start(0);
  kubelet.run();
  t.teardown(() => kubelet.stop());
  return { under, fake, kubelet, pod, firstId };
}

function newestOf(
  fake: FakeCri,
): { attempt: number; id: string; state: number; finishedAt: number } | undefined {
  const found = [...fake.runtime.containers.values()]
    .filter(({ config }) => config.labels["io.kubernetes.pod.uid"] !== undefined)
    .map(({ id, state, finishedAt, config }) => ({
      id,
      state,
      finishedAt,
      attempt: config.metadata?.attempt ?? 0,
    }));
  return found.sort((a, b) => b.attempt - a.attempt)[0];
}

/** As much of the kubelet as matters: it reports the newest instance, and starts what does not run. */
class Kubelet {
  image = "nginx:1";
  /** How long it lets a container stand before it starts the next attempt. */
  takesOverMs = Number.POSITIVE_INFINITY;
  readonly #under: NodeUnderTest;
  readonly #fake: FakeCri;
  readonly #pod: Item;
  readonly #sandbox: string;
  #ended = false;
  #reported = "";
  #loop: Promise<void> | undefined;

  constructor(under: NodeUnderTest, fake: FakeCri, pod: Item) {
    this.#under = under;
    this.#fake = fake;
    this.#pod = pod;
    this.#sandbox = fake.runtime.runSandbox({
      metadata: { name: "web", uid: pod.metadata.uid, namespace: "default", attempt: 0 },
      labels: { "io.kubernetes.pod.uid": pod.metadata.uid },
      annotations: {},
      hostname: "web",
      log_directory: "/logs",
      port_mappings: [],
    });
  }

  /** Creates and starts an attempt with the labels and annotations of a real one; returns its id. */
  start(attempt: number): string {
    const id = this.#fake.runtime.create(this.#sandbox, {
      metadata: { name: "app", attempt },
      image: {
        image: this.image === "nginx:1" ? "sha256:11" : "sha256:22",
        annotations: {},
        user_specified_image: "",
        runtime_handler: "",
        image_ref: "",
      },
      command: [],
      args: [],
      working_dir: "",
      envs: [{ key: "KUBERNETES_PORT", value: Buffer.from("tcp://10.96.0.1:443") }],
      mounts: [],
      devices: [],
      labels: {
        "io.kubernetes.container.name": "app",
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "default",
        "io.kubernetes.pod.uid": this.#pod.metadata.uid,
      },
      annotations: {
        "io.kubernetes.container.hash": hashOf(this.image),
        "io.kubernetes.container.restartCount": String(attempt),
      },
      log_path: `app/${attempt}.log`,
      stdin: false,
      stdin_once: false,
      tty: false,
      CDI_devices: [],
      stop_signal: 0,
    });
    this.#fake.runtime.start(id);
    return id;
  }

  run(): void {
    this.#loop = this.#work();
  }

  async stop(): Promise<void> {
    this.#ended = true;
    await this.#loop;
  }

  async report(more: object = {}): Promise<void> {
    const newest = newestOf(this.#fake);
    if (!newest) return;
    const live = newest.state === running;
    const status = {
      phase: "Running",
      podIP: "127.0.0.1",
      containerStatuses: [
        {
          name: "app",
          image: this.image,
          imageID: "",
          containerID: `containerd://${newest.id}`,
          restartCount: newest.attempt,
          ready: live,
          started: live,
          state: live
            ? { running: { startedAt: new Date().toISOString().replace(/\.\d+/, "") } }
            : { waiting: { reason: "ContainerCreating" } },
        },
      ],
      ...more,
    };
    const text = JSON.stringify([newest.id, live, more]);
    if (text === this.#reported) return;
    this.#reported = text;
    await this.#under.api.patch("pods", "web", "default", "merge", { status }, "status");
  }

  async #work(): Promise<void> {
    while (!this.#ended) {
      await this.report().catch(() => undefined);
      this.#takeOver();
      await sleep(50);
    }
  }

  #takeOver(): void {
    const newest = newestOf(this.#fake);
    if (!newest || !Number.isFinite(this.takesOverMs)) return;
    const wrong = newest.state === running && this.#hashOfNewest(newest.id) !== hashOf(this.image);
    if (wrong) {
      this.#fake.runtime.exit(newest.id, 0);
      return;
    }
    const since = newest.state === exited ? newest.finishedAt / 1e6 : 0;
    if (newest.state === running || Date.now() - since < this.takesOverMs) return;
    try {
      this.start(newest.attempt + 1);
    } catch {
      // The name is reserved: it looks again, as the real one does.
    }
  }

  #hashOfNewest(id: string): string | undefined {
    return this.#fake.runtime.containers.get(id)?.config.annotations["io.kubernetes.container.hash"];
  }
}
