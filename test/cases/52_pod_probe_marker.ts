import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { conditionOf, nameOf, onlyOf, records } from "./items.ts";
import { container } from "./manifests.ts";
import { nodeProbes, probedPods } from "./node_pod_probes.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const markers = "podprobemarkers.v1alpha1.apps.kruise.io";
const cost = "controller.kubernetes.io/pod-deletion-cost";
const conditionType = "case.example/idle";

export const suite: Suite = {
  number: "52",
  title: "PodProbeMarker and NodePodProbe",
  needs: ["agent"],
  versions: ["v1alpha1"],
  async run(world) {
    const clone = new CloneSet(world, "probed");
    await world.step("1 one object a node; both pods are probed and marked", () => marked(clone));
    await world.step("2 a file makes a pod the one to go", () => scaledIn(clone));
    await world.step("3 label, annotation and condition follow the file", () => follows(clone));
    await world.step("4 refusals", () => refusals(world));
    await world.step("5 a deleted marker leaves the nodes, not the pods", () => deleted(clone));
  },
};

function marker(name: string, probe: object, more: object = {}): object {
  return {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "PodProbeMarker",
    metadata: { name },
    spec: {
      selector: { matchLabels: { case: "probed" } },
      probes: [{ name, containerName: "main", podConditionType: "case.example/other", probe, ...more }],
    },
  };
}

const idle = marker(
  "idle",
  { exec: { command: ["test", "-f", "/tmp/idle"] }, periodSeconds: 2 },
  {
    podConditionType: conditionType,
    markerPolicy: [
      { state: "Succeeded", labels: { state: "idle" }, annotations: { [cost]: "-10" } },
      { state: "Failed", annotations: { [cost]: "10" } },
    ],
  },
);

async function marked(clone: CloneSet): Promise<void> {
  const { world } = clone;
  const containers = [container("main", "nginx:1.20")];
  await clone.create({ replicas: 2, containers });
  await world.apply(idle);
  await world.until("both pods are busy", async () => {
    const pods = await clone.livePods();
    assert.equal(pods.length, 2);
    for (const pod of pods)
      assert.deepEqual(marksOf(pod), { condition: "False", cost: "10", label: undefined });
    const object = await world.object(markers, "idle");
    assert.deepEqual(object.metadata.finalizers, ["kruise.io/node-pod-probe-cleanup"]);
    assert.equal(object.status?.["matchedPods"], 2);
    assert.equal(object.status?.observedGeneration, object.metadata.generation);
    const nodes = (await world.api.list("nodes")).map(nameOf).sort();
    const objects = await world.api.list(nodeProbes);
    assert.deepEqual(objects.map(nameOf).sort(), nodes);
    assert.deepEqual(
      (await probesOf(world)).sort(),
      pods.map((pod) => `${pod.metadata.name} ${pod.metadata.uid} ${podIP(pod)} idle#idle`).sort(),
    );
  });
}

async function scaledIn(clone: CloneSet): Promise<void> {
  const { world } = clone;
  const [chosen, other] = await clone.livePods();
  if (chosen === undefined || other === undefined) throw new Error("two pods are there");
  await setFile(world, chosen, true);
  await world.until("it is idle", async () => {
    const pod = await world.pod(chosen.metadata.name);
    assert.deepEqual(marksOf(pod), { condition: "True", cost: "-10", label: "idle" });
    const events = await world.events("Pod", chosen.metadata.name, "KruiseProbeSucceeded");
    assert.deepEqual(
      events.map(({ type, source }) => `${type} ${source}`),
      ["Normal kruise-daemon-podprobe"],
    );
  });
  await clone.scale(1);
  await world.until("exactly this pod goes", async () => {
    const names = (await clone.pods()).map(nameOf);
    assert.deepEqual(names, [other.metadata.name]);
    assert.equal((await probesOf(world)).length, 1);
    const object = await world.object(markers, "idle");
    assert.equal(object.status?.["matchedPods"], 1);
  });
}

async function follows(clone: CloneSet): Promise<void> {
  const { world } = clone;
  const pod = onlyOf(await clone.livePods());
  const expect = async (present: boolean, marks: object) => {
    await setFile(world, pod, present);
    await world.until(JSON.stringify(marks), async () => {
      assert.deepEqual(marksOf(await world.pod(pod.metadata.name)), marks);
    });
  };
  await expect(true, { condition: "True", cost: "-10", label: "idle" });
  await expect(false, { condition: "False", cost: "10", label: undefined });
  await world.once("an event tells it", async () => {
    const events = await world.events("Pod", pod.metadata.name, "KruiseProbeFailed");
    // One more where the probe was faster than its container.
    assert.ok(events.length > 0);
    assert.ok(events.every(({ type }) => type === "Normal"));
  });
}

async function refusals(world: World): Promise<void> {
  const exec = { exec: { command: ["true"] } };
  const bad: readonly [manifest: object, words: string | RegExp][] = [
    [marker("bad-name", exec, { name: "a#b" }), "probe name can't contains '#'."],
    [
      marker("two-handlers", { ...exec, tcpSocket: { port: 80 } }),
      /spec\.probe\.tcpSocket: .*may not specify more than 1 handler type/,
    ],
    [marker("grpc", { grpc: { port: 80 } }), /spec\.probe: .*must specify a handler type/],
  ];
  for (const [manifest, words] of bad) await world.refuses(400, () => world.apply(manifest), words);
  const selector = { spec: { selector: { matchLabels: { case: "other" } } } };
  const send = () => world.patch(markers, "idle", "merge", selector);
  await world.refuses(400, send, "selector must be immutable");
}

async function deleted(clone: CloneSet): Promise<void> {
  const { world } = clone;
  const [before] = await clone.livePods();
  await world.remove(markers, "idle");
  await world.until("no node probes for it", async () => {
    assert.deepEqual(await probesOf(world), []);
    assert.deepEqual(await world.list(markers), []);
  });
  const [after] = await clone.livePods();
  assert.deepEqual(after && marksOf(after), before && marksOf(before));
}

function marksOf(pod: Item): object {
  return {
    condition: conditionOf(pod, conditionType)?.status,
    cost: pod.metadata.annotations?.[cost],
    label: pod.metadata.labels?.["state"],
  };
}

function podIP(pod: Item): string {
  return String(pod.status?.["podIP"] ?? "");
}

/** `pod uid address probe` of everything that nodes are to probe in this namespace. */
async function probesOf(world: World): Promise<string[]> {
  return (await probedPods(world)).flatMap(({ name, uid, IP, probes }) =>
    records(probes).map((probe) => `${name} ${uid} ${IP} ${probe["name"]}`),
  );
}

/** Makes or removes the file in the pod's container; simulated containers have the files that an annotation names. */
async function setFile(world: World, pod: Item, present: boolean): Promise<void> {
  const { name } = pod.metadata;
  if (world.simulated) {
    const annotations = { "sandbox.refit.dev/files": present ? "/tmp/idle" : null };
    await world.annotate(name, annotations);
    return;
  }
  const command = present ? ["touch", "/tmp/idle"] : ["rm", "-f", "/tmp/idle"];
  const place = ["--kubeconfig", world.kubeconfig, "-n", world.namespace];
  await new Promise<void>((resolve, reject) => {
    const words = [...place, "exec", name, "-c", "main", "--", ...command];
    execFile("kubectl", words, { timeout: 30_000 }, (error) => (error ? reject(error) : resolve()));
  });
}
