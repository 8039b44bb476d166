import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { type DaemonSetShape, Daemons, daemonSet } from "./daemon_sets.ts";
import { container } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { Moment } from "./trail.ts";
import { isPresent } from "./trail.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "29",
  title: "Advanced DaemonSet: Standard update, released by node label",
  needs: [],
  async run(world) {
    const sets = new Daemons(world);
    const nodes = await sets.pair();
    if (nodes !== undefined) await run(world, sets, nodes);
  },
};

function manifest(world: World, nodes: readonly string[], image: string, selector?: object): object {
  const shape: DaemonSetShape = {
    name: "nginx",
    labels: { "k8s-app": "nginx" },
    nodes,
    rollingUpdate: { rollingUpdateType: "Standard", ...(selector ? { selector } : {}) },
    containers: [container("nginx", image, { ports: [{ name: "http", containerPort: 80 }] })],
    podSpec: { terminationGracePeriodSeconds: 2 },
  };
  return daemonSet(world.version, shape);
}

async function run(world: World, sets: Daemons, nodes: readonly [string, string]): Promise<void> {
  const [first, second] = nodes;
  await world.step("1 one pod a node", async () => {
    await world.apply(manifest(world, nodes, "nginx:1.20"));
    await sets.untilRow("nginx 2 2 2 2 2");
    const { header } = await world.printed(sets.resource);
    assert.deepEqual(header, ["NAME", "DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]);
    for (const node of nodes) checkNewPod(await sets.podOn("nginx", node), node);
  });
  const old = [await sets.podOn("nginx", first), await sets.podOn("nginx", second)] as const;
  await world.step("2 only the node that the selector matches", async () => {
    const trail = await world.trail("pods", "k8s-app=nginx");
    await world.apply(
      manifest(world, nodes, "nginx:1.21", { matchLabels: { "kubernetes.io/hostname": first } }),
    );
    await sets.untilRow("nginx 2 2 2 1 2");
    await sets.staysAt("nginx 2 2 2 1 2");
    const renewed = await sets.podOn("nginx", first);
    assert.notEqual(renewed.metadata.name, old[0].metadata.name);
    assert.equal(renewed.spec?.containers?.[0]?.image, "nginx:1.21");
    checkUntouched(await sets.podOn("nginx", second), old[1]);
    checkOneAtATime(await trail.stop(), first);
    // Events yield to all other writes.
    await world.until("all events are recorded", () => checkEvents(sets, old[0], renewed), { stableMs: 0 });
  });
  await world.step("3 without the selector the other node follows", async () => {
    await sets.patch("nginx", "json", [
      { op: "remove", path: "/spec/updateStrategy/rollingUpdate/selector" },
    ]);
    await sets.untilRow("nginx 2 2 2 2 2");
    assert.deepEqual(await sets.tags("nginx"), { [first]: "1.21", [second]: "1.21" });
  });
  await world.step("4 the pods go with their set", async () => {
    await world.remove(sets.resource, "nginx");
    await sets.untilGone("nginx");
  });
}

function checkNewPod(pod: Item, node: string): void {
  assert.match(pod.metadata.name, /^nginx-[a-z0-9]{5}$/);
  assert.deepEqual(
    pod.spec?.readinessGates?.map((gate) => gate.conditionType),
    ["KruisePodReady"],
  );
  assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 0);
  const { affinity } = (pod.spec ?? {}) as { affinity?: { nodeAffinity?: object } };
  assert.deepEqual(affinity?.nodeAffinity, {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }],
    },
  });
  const [owner] = pod.metadata.ownerReferences ?? [];
  assert.equal(owner?.apiVersion, "apps.kruise.io/v1beta1");
  assert.equal(owner?.blockOwnerDeletion, true);
}

function checkUntouched(now: Item, before: Item): void {
  const facts = ({ metadata, spec, status }: Item) => [
    metadata.name,
    metadata.uid,
    status?.podIP,
    spec?.containers?.[0]?.image,
    status?.containerStatuses?.[0]?.restartCount,
  ];
  assert.deepEqual(facts(now), facts(before));
}

/** A moment without a pod, never one with two. */
function checkOneAtATime(moments: readonly Moment[], node: string): void {
  const pods = new Map<string, Item>();
  let emptied = false;
  for (const { type, object } of moments) {
    if (type === "DELETED") pods.delete(object.metadata.uid);
    else pods.set(object.metadata.uid, object);
    const here = [...pods.values()].filter((pod) => pod.spec?.nodeName === node).filter(isPresent);
    assert.ok(here.length <= 1, `${here.length} pods on ${node}`);
    emptied ||= type !== "PRESENT" && here.length === 0;
  }
  assert.ok(emptied, "the old pod goes before the new one is created");
}

async function checkEvents(sets: Daemons, before: Item, after: Item): Promise<void> {
  const events = await sets.events("nginx");
  for (const { source } of events) assert.equal(source, "daemonset-controller");
  assert.equal(events.filter(({ reason }) => reason === "SuccessfulCreate").length, 3);
  const expected = [
    { reason: "SuccessfulDelete", message: `Deleted pod: ${before.metadata.name}` },
    { reason: "SuccessfulCreate", message: `Created pod: ${after.metadata.name}` },
  ];
  for (const { reason, message } of expected) {
    assert.ok(
      events.some((event) => event.reason === reason && event.message === message),
      `${reason} ${message} is not among ${JSON.stringify(events)}`,
    );
  }
  assert.equal(events.length, 4, JSON.stringify(events));
}
