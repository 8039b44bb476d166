import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { DaemonSet, type DaemonSetShape, onTwoNodes } from "./daemon_sets.ts";
import { identityOf, imageOf, nameOf, nodeOf, restartsOf } from "./items.ts";
import { container } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { isPresent, type Moment, presences } from "./trail.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "29",
  title: "Advanced DaemonSet: Standard update, released by node label",
  needs: [],
  run: onTwoNodes(run),
};

function shapeOf(nodes: readonly string[], image: string, selector?: object): Omit<DaemonSetShape, "name"> {
  return {
    labels: { "k8s-app": "nginx" },
    nodes,
    rollingUpdate: { rollingUpdateType: "Standard", ...(selector ? { selector } : {}) },
    containers: [container("nginx", image, { ports: [{ name: "http", containerPort: 80 }] })],
    podSpec: { terminationGracePeriodSeconds: 2 },
  };
}

async function run(world: World, nodes: readonly [string, string]): Promise<void> {
  const [first, second] = nodes;
  const set = new DaemonSet(world, "nginx");
  await world.step("1 one pod a node", async () => {
    await set.start(nodes, shapeOf(nodes, "nginx:1.20"));
    assert.equal(await set.columns(), "NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE AGE");
    for (const node of nodes) checkNewPod(await set.podOn(node), node);
  });
  const [released, held] = [await set.podOn(first), await set.podOn(second)];
  await world.step("2 only the node that the selector matches", async () => {
    const trail = await set.trail("k8s-app=nginx");
    await set.create(shapeOf(nodes, "nginx:1.21", { matchLabels: { "kubernetes.io/hostname": first } }));
    await set.untilRow("2 2 2 1 2");
    await set.staysAt("2 2 2 1 2");
    const renewed = await set.podOn(first);
    assert.notEqual(nameOf(renewed), nameOf(released));
    assert.equal(imageOf(renewed), "nginx:1.21");
    const facts = (pod: Item) => [...identityOf(pod), imageOf(pod), restartsOf(pod)];
    assert.deepEqual(facts(await set.podOn(second)), facts(held));
    checkOneAtATime(await trail.stop(), first);
    // Events yield to all other writes.
    await world.once("all events are recorded", () => checkEvents(set, released, renewed));
  });
  await world.step("3 without the selector the other node follows", async () => {
    await set.patch("json", [{ op: "remove", path: "/spec/updateStrategy/rollingUpdate/selector" }]);
    await set.untilAll(2);
    assert.deepEqual(await set.tags(), { [first]: "1.21", [second]: "1.21" });
  });
  await world.step("4 the pods go with their set", async () => {
    await set.remove();
    await set.untilGone();
  });
}

function checkNewPod(pod: Item, node: string): void {
  assert.match(nameOf(pod), /^nginx-[a-z0-9]{5}$/);
  assert.deepEqual(pod.spec?.readinessGates, [{ conditionType: "KruisePodReady" }]);
  assert.equal(restartsOf(pod), 0);
  const matchFields = [{ key: "metadata.name", operator: "In", values: [node] }];
  assert.deepEqual(Object(pod.spec?.["affinity"]).nodeAffinity, {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
  });
  const [owner] = pod.metadata.ownerReferences ?? [];
  assert.equal(owner?.apiVersion, "apps.kruise.io/v1beta1");
  assert.equal(owner?.blockOwnerDeletion, true);
}

/** A moment without a pod, never one with two. */
function checkOneAtATime(moments: readonly Moment[], node: string): void {
  let emptied = false;
  for (const { moment, pods } of presences(moments)) {
    const here = pods.filter((pod) => nodeOf(pod) === node).filter(isPresent);
    assert.ok(here.length <= 1, `${here.length} pods on ${node}`);
    emptied ||= moment.type !== "PRESENT" && here.length === 0;
  }
  assert.ok(emptied, "the old pod goes before the new one is created");
}

async function checkEvents(set: DaemonSet, before: Item, after: Item): Promise<void> {
  const events = await set.events();
  const told = events.map(({ source, reason, message }) => `${source} ${reason} ${message}`).sort();
  const expected = [
    `daemonset-controller SuccessfulDelete Deleted pod: ${nameOf(before)}`,
    `daemonset-controller SuccessfulCreate Created pod: ${nameOf(after)}`,
  ];
  for (const one of expected) assert.ok(told.includes(one), `${one} is not among ${told.join(", ")}`);
  for (const one of told) assert.match(one, /^daemonset-controller /);
  assert.equal(events.filter(({ reason }) => reason === "SuccessfulCreate").length, 3);
  assert.equal(events.length, 4, told.join(", "));
}
