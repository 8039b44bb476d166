/** The node agent is killed, its runtime and its API server go away, each in the middle of its work on a real node. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type CriClient, createCriClient } from "../../agent/index.ts";
import { systemClock } from "../../kube/index.ts";
import { ContainerState, methods } from "../../proto/cri/index.ts";
import type { AgentProcess } from "../cluster/agents.ts";
import { type Item, isRecord } from "../cluster/api.ts";
import { container } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const nodeImages = "nodeimages.v1beta1.apps.kruise.io";
const requests = "containerrecreaterequests.v1beta1.apps.kruise.io";
const soon = { stableMs: 0 };

export const suite: Suite = {
  number: "a02",
  title: "Fault: the agent, its runtime and its API server go away",
  needs: ["own-controller", "real-node", "agent", "own-agents"],
  versions: ["v1beta1"],
  async run(world) {
    const [agent] = world.nodeAgents;
    assert.ok(agent);
    await world.startController();
    const cri = createCriClient(agent.socket, { clock: systemClock });
    try {
      await agent.stop();
      await agent.start(["--direct-swap=true", "--max-workers-for-pull-image=1"]);
      await killedWhilePulling(world, agent);
      await killedWhileSwapping(world, agent, cri);
      await killedWhileRestarting(world, agent);
      await runtimeAway(world, agent);
      await serverAway(world, agent);
    } finally {
      cri.close();
      await agent.stop();
      await agent.start();
    }
  },
};

/** The agent dies without notice and comes back at once, with the flags of this suite. */
async function killed(agent: AgentProcess): Promise<void> {
  await agent.kill();
  await agent.start(["--direct-swap=true", "--max-workers-for-pull-image=1"]);
}

async function killedWhilePulling(world: World, agent: AgentProcess): Promise<void> {
  await world.step("killed between two pulls: what was done is not done again, the rest is", async () => {
    await wantImages(world, agent.node, 0);
    await world.until(
      "the first is there",
      async () => assert.ok((await pulled(world, agent, 0)).length > 0),
      soon,
    );
    await agent.kill();
    const before = await pulled(world, agent, 0);
    await agent.start(["--direct-swap=true", "--max-workers-for-pull-image=1"]);
    await world.until(
      "all are there",
      async () => assert.equal((await pulled(world, agent, 0)).length, tags.length),
      soon,
    );
    const after = await pulled(world, agent, 0);
    for (const one of before)
      assert.deepEqual(
        after.find(({ tag }) => tag === one["tag"]),
        one,
      );
  });
}

async function killedWhileSwapping(world: World, agent: AgentProcess, cri: CriClient): Promise<void> {
  await world.step(
    "killed during a swap: one container runs, of the new image, and nothing is left",
    async () => {
      const uid = await makePod(world, "swapped", agent.node, container("app", "nginx:1.20"));
      for (const delayMs of [0, 40, 80]) {
        const image = await swapBegins(world, cri, uid);
        await sleep(delayMs);
        const most = mostRunning(cri, uid);
        await killed(agent);
        await world.until(`${image} runs`, async () => {
          const status = (await podOf(world, "swapped")).status?.containerStatuses?.[0];
          assert.ok(status?.ready && String(status.image).endsWith(image), JSON.stringify(status));
          assert.equal(await placeholders(cri, uid), 0);
        });
        assert.equal(await most.end(), 1, "instances at the same time");
      }
    },
  );
}

/**
 * Changes the image of the pod `swapped` until the agent holds the name of its next container, and says which image it is.
 * A kubelet that is faster leaves nothing to be swapped: the image is changed once more then.
 */
async function swapBegins(world: World, cri: CriClient, uid: string): Promise<string> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const present = (await podOf(world, "swapped")).spec?.containers?.[0]?.image;
    const image = present === "nginx:1.21" ? "nginx:1.22" : "nginx:1.21";
    const patch = [{ op: "replace", path: "/spec/containers/0/image", value: image }];
    await world.patch("pods", "swapped", "json", patch);
    const latest = performance.now() + 10_000;
    while (performance.now() < latest) {
      if ((await placeholders(cri, uid)) > 0) return image;
      await sleep(5);
    }
  }
  throw new Error("the agent began none of five swaps within 10 s");
}

async function killedWhileRestarting(world: World, agent: AgentProcess): Promise<void> {
  await world.step("killed during a restart: it is completed, and the container restarted once", async () => {
    await makePod(world, "slow", agent.node, slow("app"));
    await ask(world, "killed");
    await killed(agent);
    await restartedBy(world, "killed", 1);
  });
}

async function runtimeAway(world: World, agent: AgentProcess): Promise<void> {
  await world.step(
    "the runtime is killed during a restart: it is completed, and restarted once",
    async () => {
      await ask(world, "runtime");
      await world.faults.restartRuntime(agent.node);
      await restartedBy(world, "runtime", 2);
    },
  );
}

async function serverAway(world: World, agent: AgentProcess): Promise<void> {
  await world.step("the API server is away: work goes on, and is reported once when it is back", async () => {
    const { pid } = agent;
    await wantImages(world, agent.node, 1);
    await ask(world, "server");
    const before = residentMegabytes(pid);
    await world.faults.serverAway();
    const after = residentMegabytes(pid);
    assert.ok(after < before + 16, `the agent grew from ${before} MB to ${after} MB`);
    // A server that has just started refuses watches for a moment, and the kubelet's report is what completes it.
    await restartedBy(world, "server", 3, 30_000);
    await world.until(
      "all pulls are reported",
      async () => assert.equal((await pulled(world, agent, 1)).length, tags.length),
      { stableMs: 0, timeoutMs: 15_000 },
    );
    assert.equal(agent.pid, pid);
    assert.equal(agent.exitCode(), undefined, "the agent stayed up");
  });
}

function residentMegabytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  assert.ok(kilobytes);
  return Math.round(Number(kilobytes) / 1024);
}

/** A container that takes five seconds to end: long enough to be seen ending. */
function slow(name: string): object {
  const script = "trap 'sleep 5; exit 0' TERM; sleep 86400 & wait $!";
  return container(name, "busybox:1.34", { command: ["sh", "-c", script] });
}

async function makePod(world: World, name: string, nodeName: string, one: object): Promise<string> {
  await world.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, annotations: { "agent.refit/direct-swap": "true" } },
    spec: { nodeName, terminationGracePeriodSeconds: 5, containers: [one] },
  });
  const ready = async () => assert.ok((await podOf(world, name)).status?.containerStatuses?.[0]?.ready);
  await world.until(`${name} is ready`, ready, soon);
  return (await podOf(world, name)).metadata.uid ?? "";
}

function podOf(world: World, name: string): Promise<Item> {
  return world.pod(name);
}

/** Resolves when the agent works on it: its container is being stopped then. */
async function ask(world: World, name: string): Promise<void> {
  await world.apply({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ContainerRecreateRequest",
    metadata: { name },
    spec: { podName: "slow", containers: [{ name: "app" }], strategy: { terminationGracePeriodSeconds: 10 } },
  });
  const working = async () => assert.equal((await world.object(requests, name)).status?.phase, "Recreating");
  await world.until(`${name} is worked on`, working, soon);
  await sleep(300);
}

async function restartedBy(
  world: World,
  request: string,
  restarts: number,
  timeoutMs = 60_000,
): Promise<void> {
  await world.until(
    `${request} is completed`,
    async () => {
      const { status } = await world.object(requests, request);
      assert.equal(status?.phase, "Completed", JSON.stringify(status));
    },
    { stableMs: 0, timeoutMs },
  );
  const { status } = await world.object(requests, request);
  const states = status?.["containerRecreateStates"];
  assert.ok(Array.isArray(states) && isRecord(states[0]));
  assert.equal(states[0]["phase"], "Succeeded", JSON.stringify(status));
  const counted = async () =>
    assert.equal((await podOf(world, "slow")).status?.containerStatuses?.[0]?.restartCount, restarts);
  await world.until("the restart is counted", counted, { stableMs: 2_000 });
}

const tags = ["1.32", "1.33", "1.35"] as const;

function wantImages(world: World, node: string, version: number): Promise<Item> {
  const task = (tag: string) => ({
    tag,
    version,
    createdAt: new Date().toISOString().replace(/\.\d+/, ""),
    imagePullPolicy: "Always",
    pullPolicy: { timeoutSeconds: 60, backoffLimit: 2, ttlSecondsAfterFinished: 7_200 },
  });
  return world.apply({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "NodeImage",
    metadata: { name: node },
    spec: { images: { busybox: { tags: tags.map(task) } } },
  });
}

/** Statuses of the tags that were pulled in this version. */
async function pulled(
  world: World,
  { node }: AgentProcess,
  version: number,
): Promise<Record<string, unknown>[]> {
  const { status } = await world.api.get(nodeImages, node);
  const images = isRecord(status) && isRecord(status["imageStatuses"]) ? status["imageStatuses"] : {};
  const all = isRecord(images["busybox"]) ? images["busybox"]["tags"] : [];
  const own = Array.isArray(all) ? all.filter(isRecord) : [];
  return own.filter((one) => one["phase"] === "Succeeded" && (one["version"] ?? 0) === version);
}

/** Names that the agent holds in the pod's sandbox. */
async function placeholders(cri: CriClient, uid: string): Promise<number> {
  const ofPod = { label_selector: { "io.kubernetes.pod.uid": uid } };
  const [sandbox] = (await cri.call(methods.ListPodSandbox, { filter: ofPod })).items;
  const held = { pod_sandbox_id: sandbox?.id ?? "", label_selector: { "agent.refit/placeholder": "true" } };
  return (await cri.call(methods.ListContainers, { filter: held })).containers.length;
}

/** Counts how many containers of the pod run at the same time, until it is told to end. */
function mostRunning(cri: CriClient, uid: string): { end(): Promise<number> } {
  const filter = { label_selector: { "io.kubernetes.pod.uid": uid } };
  const over = new AbortController();
  const watching = (async () => {
    let most = 0;
    while (!over.signal.aborted) {
      const { containers } = await cri.call(methods.ListContainers, { filter });
      const running = containers.filter((one) => one.state === ContainerState.CONTAINER_RUNNING);
      most = Math.max(most, running.length);
      await sleep(10);
    }
    return most;
  })();
  watching.catch(() => undefined);
  return {
    end() {
      over.abort();
      return watching;
    },
  };
}
