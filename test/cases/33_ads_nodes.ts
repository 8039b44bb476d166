import assert from "node:assert/strict";
import { Daemons, daemonSet } from "./daemon_sets.ts";
import { container } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

/** Taints nodes, so no other suite may run beside it. */
export const suite: Suite = {
  number: "33",
  title: "Advanced DaemonSet: nodes come, go and change",
  needs: ["own-controller"],
  async run(world) {
    await world.startController();
    const sets = new Daemons(world);
    const nodes = await sets.pair();
    if (nodes === undefined) return;
    try {
      await run(world, sets, nodes);
    } finally {
      for (const node of nodes) await patchNode(world, node, { spec: { taints: null, unschedulable: null } });
      await patchNode(world, nodes[1], { metadata: { labels: { colour: null } } });
    }
  },
};

function patchNode(world: World, node: string, body: object): Promise<unknown> {
  return world.api.patch("nodes", node, undefined, "merge", body);
}

async function run(world: World, sets: Daemons, nodes: readonly [string, string]): Promise<void> {
  const [first, second] = nodes;
  const added = "node-to-come";
  await world.step("1 one pod a node", async () => {
    await world.apply(daemonSet(world.version, { name: "every", nodes: [...nodes, added] }));
    await sets.untilRow("every 2 2 2 2 2");
  });
  if (world.simulated) await world.step("2 a node comes and goes", () => comeAndGo(world, sets, added));
  else world.skip("2 a node comes and goes", "needs simulated nodes");
  await world.step("3 a deleted pod comes back on its node", () => replace(world, sets, first));
  await world.step("4 cordoned nodes are no exception", async () => {
    await patchNode(world, first, { spec: { unschedulable: true } });
    await replace(world, sets, first);
    await patchNode(world, first, { spec: { unschedulable: null } });
  });
  await world.step("5 NoSchedule keeps what runs", () => keepTainted(world, sets, second));
  await world.step("6 NoExecute takes the pod away", async () => {
    const taints = [{ key: "case", value: "x", effect: "NoExecute" }];
    await patchNode(world, second, { spec: { taints } });
    await sets.untilRow("every 1 1 1 1 1");
    await patchNode(world, second, { spec: { taints: null } });
    await sets.untilRow("every 2 2 2 2 2");
  });
  await world.step("7 a foreign pod is adopted and, being younger, deleted", () => adopt(world, sets, first));
  await world.step("8 node labels", () => followLabels(world, sets, second));
  await world.step("9 a failed pod is replaced", () => fail(world, sets, second));
  await world.step("10 all go with their set", async () => {
    await world.remove(sets.resource, "every");
    await sets.untilGone("every");
  });
}

async function comeAndGo(world: World, sets: Daemons, name: string): Promise<void> {
  const metadata = { name, labels: { "kubernetes.io/hostname": name } };
  await world.api.create({ apiVersion: "v1", kind: "Node", metadata });
  await sets.untilRow("every 3 3 3 3 3");
  await world.api.remove("nodes", name);
  await sets.untilRow("every 2 2 2 2 2");
  await world.until(
    "the pod of the missing node is cleaned up",
    async () => assert.equal((await sets.pods("every")).length, 2),
    { timeoutMs: 120_000 },
  );
}

async function replace(world: World, sets: Daemons, node: string): Promise<void> {
  const before = await sets.podOn("every", node);
  await world.remove("pods", before.metadata.name);
  await world.until("another pod", async () =>
    assert.notEqual((await sets.podOn("every", node)).metadata.name, before.metadata.name),
  );
  await sets.untilRow("every 2 2 2 2 2");
}

async function keepTainted(world: World, sets: Daemons, node: string): Promise<void> {
  const before = await sets.podOn("every", node);
  await patchNode(world, node, { spec: { taints: [{ key: "case", value: "x", effect: "NoSchedule" }] } });
  await sets.untilRow("every 1 1 1 1 1");
  assert.equal((await sets.get("every")).status?.["numberMisscheduled"], 1);
  assert.equal((await sets.podOn("every", node)).metadata.uid, before.metadata.uid);
  await world.remove("pods", before.metadata.name);
  await world.until("the pod is gone", async () => assert.equal((await sets.pods("every")).length, 1));
  await world.stays(async () => assert.equal((await sets.pods("every")).length, 1), 10_000);
  await patchNode(world, node, { spec: { taints: null } });
  await sets.untilRow("every 2 2 2 2 2");
}

async function adopt(world: World, sets: Daemons, node: string): Promise<void> {
  const older = await sets.podOn("every", node);
  const extra = await world.api.create(
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "extra", labels: { case: "every" } },
      spec: {
        nodeName: node,
        terminationGracePeriodSeconds: 1,
        containers: [container("nginx", "nginx:1.20")],
      },
    },
    world.namespace,
  );
  await world.until("the younger pod is gone", async () => {
    assert.equal(await world.api.find("pods", "extra", world.namespace), undefined);
    assert.equal((await sets.podOn("every", node)).metadata.uid, older.metadata.uid);
  });
  assert.equal(extra.metadata.ownerReferences, undefined);
  await world.until(
    "an event tells it",
    async () => {
      const events = await sets.events("every");
      assert.ok(
        events.some(({ message }) => message === "Deleted pod: extra"),
        JSON.stringify(events),
      );
    },
    { stableMs: 0 },
  );
}

async function followLabels(world: World, sets: Daemons, node: string): Promise<void> {
  const paint = (colour: string) => patchNode(world, node, { metadata: { labels: { colour } } });
  await sets.patch("every", "merge", { spec: { template: { spec: { nodeSelector: { colour: "blue" } } } } });
  await sets.untilRow("every 0 0 0 0");
  await paint("blue");
  await sets.untilRow("every 1 1 1 1 1");
  await sets.podOn("every", node);
  await paint("green");
  await sets.untilRow("every 0 0 0 0");
  await paint("blue");
  await sets.untilRow("every 1 1 1 1 1");
}

async function fail(world: World, sets: Daemons, node: string): Promise<void> {
  const before = await sets.podOn("every", node);
  const { name } = before.metadata;
  await world.fail(name);
  await world.until("another pod", async () => {
    assert.notEqual((await sets.podOn("every", node)).metadata.uid, before.metadata.uid);
    assert.equal(await sets.row("every"), "every 1 1 1 1 1");
  });
  const message = `Found failed daemon pod ${world.namespace}/${name} on node ${node}, will try to kill it`;
  await world.until(
    "an event tells it",
    async () => {
      const events = await world.events("DaemonSet", "every", "FailedDaemonPod");
      assert.deepEqual(
        events.map((event) => [event.type, event.message]),
        [["Warning", message]],
      );
    },
    { stableMs: 0 },
  );
}
