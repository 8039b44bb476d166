import assert from "node:assert/strict";
import { DaemonSet, onTwoNodes } from "./daemon_sets.ts";
import { nameOf, uidOf } from "./items.ts";
import { container, podOf } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

/** Taints nodes, so no other suite may run beside it. */
export const suite: Suite = {
  number: "33",
  title: "Advanced DaemonSet: nodes come, go and change",
  needs: ["own-controller"],
  run: onTwoNodes(async (world, nodes) => {
    await world.startController();
    try {
      await run(world, nodes);
    } finally {
      for (const node of nodes) await patchNode(world, node, { spec: { taints: null, unschedulable: null } });
      await patchNode(world, nodes[1], { metadata: { labels: { colour: null } } });
    }
  }),
};

function patchNode(world: World, node: string, body: object): Promise<unknown> {
  return world.patch("nodes", node, "merge", body);
}

function taint(world: World, node: string, effect: "NoSchedule" | "NoExecute" | undefined): Promise<unknown> {
  const taints = effect === undefined ? null : [{ key: "case", value: "x", effect }];
  return patchNode(world, node, { spec: { taints } });
}

async function run(world: World, nodes: readonly [string, string]): Promise<void> {
  const [first, second] = nodes;
  const every = new DaemonSet(world, "every");
  const added = "node-to-come";
  await world.step("1 one pod a node", async () => {
    await every.create({ nodes: [...nodes, added] });
    await every.untilAll(2);
  });
  if (world.simulated) await world.step("2 a node comes and goes", () => comeAndGo(every, added));
  else world.skip("2 a node comes and goes", "needs simulated nodes");
  await world.step("3 a deleted pod comes back on its node", () => replace(every, first));
  await world.step("4 cordoned nodes are no exception", async () => {
    await patchNode(world, first, { spec: { unschedulable: true } });
    await replace(every, first);
    await patchNode(world, first, { spec: { unschedulable: null } });
  });
  await world.step("5 NoSchedule keeps what runs", () => keepTainted(every, second));
  await world.step("6 NoExecute takes the pod away", async () => {
    await taint(world, second, "NoExecute");
    await every.untilAll(1);
    await taint(world, second, undefined);
    await every.untilAll(2);
  });
  await world.step("7 a foreign pod is adopted and, being younger, deleted", () => adopt(every, first));
  await world.step("8 node labels", () => followLabels(every, second));
  await world.step("9 a failed pod is replaced", () => fail(every, second));
  await world.step("10 all go with their set", async () => {
    await every.remove();
    await every.untilGone();
  });
}

async function comeAndGo(every: DaemonSet, name: string): Promise<void> {
  const { world } = every;
  const metadata = { name, labels: { "kubernetes.io/hostname": name } };
  await world.api.create({ apiVersion: "v1", kind: "Node", metadata });
  await every.untilAll(3);
  await world.remove("nodes", name);
  await every.untilAll(2);
  await world.within(120_000, "the pod of the missing node is cleaned up", async () =>
    assert.equal((await every.pods()).length, 2),
  );
}

async function replace(every: DaemonSet, node: string): Promise<void> {
  await every.untilRenewed(await every.removePodOn(node));
  await every.untilAll(2);
}

async function keepTainted(every: DaemonSet, node: string): Promise<void> {
  const { world } = every;
  const before = await every.podOn(node);
  const isGone = async () => assert.equal((await every.pods()).length, 1);
  await taint(world, node, "NoSchedule");
  await every.untilAll(1);
  assert.equal((await every.status())["numberMisscheduled"], 1);
  assert.equal(uidOf(await every.podOn(node)), uidOf(before));
  await every.removePodOn(node);
  await world.until("the pod is gone", isGone);
  await world.stays(isGone, 10_000);
  await taint(world, node, undefined);
  await every.untilAll(2);
}

async function adopt(every: DaemonSet, node: string): Promise<void> {
  const { world } = every;
  const older = await every.podOn(node);
  const containers = [container("nginx", "nginx:1.20")];
  const shape = { labels: { case: "every" }, containers, spec: { nodeName: node } };
  const extra = await world.apply(podOf("extra", shape));
  await world.until("the younger pod is gone", async () => {
    assert.equal(await world.find("pods", "extra"), undefined);
    assert.equal(uidOf(await every.podOn(node)), uidOf(older));
  });
  assert.equal(extra.metadata.ownerReferences, undefined);
  await world.once("an event tells it", async () => {
    const messages = (await every.events()).map(({ message }) => message);
    assert.ok(messages.includes("Deleted pod: extra"), messages.join());
  });
}

async function followLabels(every: DaemonSet, node: string): Promise<void> {
  const paint = (colour: string) => patchNode(every.world, node, { metadata: { labels: { colour } } });
  await every.mergeSpec({ template: { spec: { nodeSelector: { colour: "blue" } } } });
  await every.untilRow("0 0 0 0");
  await paint("blue");
  await every.untilAll(1);
  await every.podOn(node);
  await paint("green");
  await every.untilRow("0 0 0 0");
  await paint("blue");
  await every.untilAll(1);
}

async function fail(every: DaemonSet, node: string): Promise<void> {
  const { world } = every;
  const before = await every.podOn(node);
  await world.fail(nameOf(before));
  await every.untilRenewed(before);
  await every.untilAll(1);
  const pod = `${world.namespace}/${nameOf(before)}`;
  const message = `Found failed daemon pod ${pod} on node ${node}, will try to kill it`;
  await every.untilEvent("FailedDaemonPod", { type: "Warning", message });
  assert.equal((await every.events("FailedDaemonPod")).length, 1);
}
