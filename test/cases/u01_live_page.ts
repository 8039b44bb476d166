import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  type Followed,
  follow,
  type NodeItem,
  openPage,
  type Page,
  type PodItem,
  planPath,
  postTo,
  type WorkloadItem,
} from "../../testkit/cli/live_page.ts";
import { builtProgram } from "../built.ts";
import { CloneSet } from "./clone_sets.ts";
import { imageOf, nameOf, uidOf } from "./items.ts";
import { type CloneSetShape, imagePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const shape: Omit<CloneSetShape, "name"> = {
  replicas: 3,
  strategy: { policy: "InPlaceIfPossible", maxUnavailable: 1 },
};

/** What ships serves the page; what a page gets, and what it asks for, is read as a browser does. */
export const suite: Suite = {
  number: "u01",
  title: "The live page",
  needs: [],
  versions: ["v1beta1"],
  async run(world) {
    const ended: (() => unknown)[] = [];
    try {
      await onPage(world, { teardown: (end: () => unknown) => ended.push(end) });
    } finally {
      for (const end of ended.reverse()) await end();
    }
  },
};

async function onPage(world: World, scope: { teardown(end: () => unknown): void }): Promise<void> {
  const web = new CloneSet(world, "web");
  const key = `clonesets.apps.kruise.io/${world.namespace}/web`;
  const page = await start(world, scope);
  const list = follow(scope, page, "/events");
  const item = (what: string, holds: (item: WorkloadItem) => boolean, limitMs?: number): Promise<void> =>
    world.once(
      what,
      async () => {
        const found = list.state.get(key);
        assert.ok(found?.is === "workload" && holds(found), JSON.stringify(found));
      },
      limitMs,
    );
  let one: Followed | undefined;
  const pods = (): PodItem[] => [...(one?.state.values() ?? [])].filter((each) => each.is === "pod");
  await world.step("1 a workload appears, with its pods by node", async () => {
    const found = await web.start(shape);
    await item("it is there", ({ state, available }) => state === "done" && available === 3);
    one = follow(scope, page, `/events?workload=${encodeURIComponent(key)}`);
    await world.once("its pods are ready", async () =>
      assert.deepEqual(
        pods().map(({ state }) => state),
        Array(3).fill("ready"),
      ),
    );
    assert.deepEqual(
      pods()
        .map(({ name }) => name)
        .sort(),
      found.map(nameOf).sort(),
    );
    for (const { node } of pods()) assert.notEqual(node, "");
  });
  await world.step("2 what a manifest would do is told, and nothing is done", async () => {
    const { status: _, ...written } = await world.object("clonesets", "web");
    const changed = JSON.stringify(written).replace('"nginx:1.20"', '"nginx:1.21"');
    const answer = await postTo(page, planPath, { workload: key, manifest: changed });
    const plan: { pods: { way: string }[] } = JSON.parse(await answer.text());
    assert.deepEqual(
      plan.pods.map(({ way }) => way),
      ["in place"],
    );
    assert.deepEqual([...new Set((await web.pods()).map(imageOf))], ["nginx:1.20"]);
  });
  await world.step("3 a rollout is seen to its end, and keeps the pods", async () => {
    const before = (await web.livePods()).map(uidOf).sort();
    await web.patch("json", imagePatch("nginx:1.21"));
    const isNew = ({ image, state }: PodItem): boolean => image.endsWith("nginx:1.21") && state === "ready";
    await item(
      "it is new",
      ({ state, updated, available }) => state === "done" && updated === 3 && available === 3,
    );
    await world.once("its pods are new", async () =>
      assert.deepEqual(pods().map(isNew), Array(3).fill(true)),
    );
    assert.deepEqual((await web.livePods()).map(uidOf).sort(), before);
  });
  await world.step("4 a rollout that is stuck says why, and is undone from the page", async () => {
    await web.patch("json", imagePatch("nginx:no-such-tag"));
    // The container ended soon after the last one: its kubelet waits before it asks for the image.
    const isStuck = ({ state, reason }: WorkloadItem): boolean => state === "stuck" && /Image/.test(reason);
    await item("it is stuck", isStuck, 120_000);
    const answer = await postTo(page, "/actions", { action: "undo", workload: key, revision: 0 });
    assert.match(await answer.text(), /"code":0.*rolled back/);
    await item("it is as before", ({ state, available }) => state === "done" && available === 3, 120_000);
  });
  await world.step("5 it is paused, and its partition is set, from the page", async () => {
    const act = async (request: object): Promise<string> =>
      (await postTo(page, "/actions", { workload: key, ...request })).text();
    assert.match(await act({ action: "pause" }), /"code":0/);
    await item("it is paused", ({ isPaused }) => isPaused);
    assert.match(await act({ action: "resume" }), /"code":0/);
    await item("it goes on", ({ isPaused }) => !isPaused);
    assert.match(await act({ action: "partition", amount: 2 }), /"code":0/);
    await item("its partition is set", ({ partition }) => partition === 2);
  });
  await world.step("6 the nodes are there, with the pods of each", async () => {
    const nodes = follow(scope, page, "/events?workload=nodes");
    const shown = (): NodeItem[] => [...nodes.state.values()].filter((each) => each.is === "node");
    const all = (await world.list("nodes")).map(nameOf).sort();
    await world.once("all are there", async () => {
      const ready = shown().filter(({ isReady }) => isReady);
      assert.deepEqual(ready.map(({ name }) => name).sort(), all);
    });
  });
}

async function start(world: World, scope: { teardown(end: () => unknown): void }): Promise<Page> {
  const words = ["ui", "--allow-changes", "--kubeconfig", world.kubeconfig, "-n", world.namespace];
  const program = spawn(process.execPath, [builtProgram("refit"), ...words], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  scope.teardown(() => program.exitCode === null && program.kill("SIGKILL"));
  const address = await addressOf(program);
  return openPage(address, async () => {
    program.kill("SIGINT");
    const [code]: unknown[] = await once(program, "exit");
    return Number(code);
  });
}

function addressOf({ stdout, stderr }: ChildProcess): Promise<string> {
  let said = "";
  return new Promise((resolve, reject) => {
    for (const stream of [stdout, stderr])
      stream?.on("data", (chunk) => {
        said += String(chunk);
        const [address] = /http:\/\/\S+/.exec(said) ?? [];
        if (address !== undefined) resolve(address);
      });
    stdout?.once("end", () => reject(new Error(`refit ui ended: ${said}`)));
  });
}
