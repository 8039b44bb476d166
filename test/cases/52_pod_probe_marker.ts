import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import type { Item } from "../cluster/api.ts";
import { isRecord } from "../cluster/api.ts";
import { cloneSet, container } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const markers = "podprobemarkers.v1alpha1.apps.kruise.io";
const nodeProbes = "nodepodprobes.v1alpha1.apps.kruise.io";
const cost = "controller.kubernetes.io/pod-deletion-cost";
const conditionType = "case.example/idle";

export const suite: Suite = {
  number: "52",
  title: "PodProbeMarker and NodePodProbe",
  needs: ["agent"],
  versions: ["v1alpha1"],
  async run(world) {
    await world.step("1 one object a node; both pods are probed and marked", () => marked(world));
    await world.step("2 a file makes a pod the one to go", () => scaledIn(world));
    await world.step("3 label, annotation and condition follow the file", () => follows(world));
    await world.step("4 refusals", () => refusals(world));
    await world.step("5 a deleted marker leaves the nodes, not the pods", () => deleted(world));
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

async function marked(world: World): Promise<void> {
  const containers = [container("main", "nginx:1.20")];
  await world.apply(cloneSet(world.version, { name: "probed", replicas: 2, containers }));
  await world.apply(idle);
  await world.until("both pods are busy", async () => {
    const pods = await world.livePodsOf("probed");
    assert.equal(pods.length, 2);
    for (const pod of pods)
      assert.deepEqual(marksOf(pod), { condition: "False", cost: "10", label: undefined });
    const object = await world.api.get(markers, "idle", world.namespace);
    assert.deepEqual(object.metadata.finalizers, ["kruise.io/node-pod-probe-cleanup"]);
    assert.equal(object.status?.["matchedPods"], 2);
    assert.equal(object.status?.observedGeneration, object.metadata.generation);
    const nodes = (await world.api.list("nodes")).map((node) => node.metadata.name).sort();
    const objects = await world.api.list(nodeProbes);
    assert.deepEqual(objects.map((one) => one.metadata.name).sort(), nodes);
    assert.deepEqual(
      (await probesOf(world)).sort(),
      pods.map((pod) => `${pod.metadata.name} ${pod.metadata.uid} ${podIP(pod)} idle#idle`).sort(),
    );
  });
}

async function scaledIn(world: World): Promise<void> {
  const [chosen, other] = await world.livePodsOf("probed");
  if (chosen === undefined || other === undefined) throw new Error("two pods are there");
  await setFile(world, chosen, true);
  await world.until("it is idle", async () => {
    const pod = await world.api.get("pods", chosen.metadata.name, world.namespace);
    assert.deepEqual(marksOf(pod), { condition: "True", cost: "-10", label: "idle" });
    const events = await world.events("Pod", chosen.metadata.name, "KruiseProbeSucceeded");
    assert.deepEqual(
      events.map(({ type, source }) => `${type} ${source}`),
      ["Normal kruise-daemon-podprobe"],
    );
  });
  await world.scale("probed", 1);
  await world.until("exactly this pod goes", async () => {
    const names = (await world.podsOf("probed")).map((pod) => pod.metadata.name);
    assert.deepEqual(names, [other.metadata.name]);
    assert.equal((await probesOf(world)).length, 1);
    const object = await world.api.get(markers, "idle", world.namespace);
    assert.equal(object.status?.["matchedPods"], 1);
  });
}

async function follows(world: World): Promise<void> {
  const [pod] = await world.livePodsOf("probed");
  if (pod === undefined) throw new Error("one pod is left");
  const expect = async (present: boolean, marks: object) => {
    await setFile(world, pod, present);
    await world.until(JSON.stringify(marks), async () => {
      assert.deepEqual(marksOf(await world.api.get("pods", pod.metadata.name, world.namespace)), marks);
    });
  };
  await expect(true, { condition: "True", cost: "-10", label: "idle" });
  await expect(false, { condition: "False", cost: "10", label: undefined });
  await world.until(
    "an event tells it",
    async () => {
      const events = await world.events("Pod", pod.metadata.name, "KruiseProbeFailed");
      // One more where the probe was faster than its container.
      assert.ok(events.length > 0);
      assert.ok(events.every(({ type }) => type === "Normal"));
    },
    { stableMs: 0 },
  );
}

async function refusals(world: World): Promise<void> {
  const refused = (manifest: object) => world.refused(() => world.apply(manifest), 400);
  const exec = { exec: { command: ["true"] } };
  const named = marker("bad-name", exec, { name: "a#b" });
  assert.match(await refused(named), /probe name can't contains '#'\./);
  const both = marker("two-handlers", { ...exec, tcpSocket: { port: 80 } });
  assert.match(await refused(both), /spec\.probe\.tcpSocket: .*may not specify more than 1 handler type/);
  const grpc = marker("grpc", { grpc: { port: 80 } });
  assert.match(await refused(grpc), /spec\.probe: .*must specify a handler type/);
  const selector = { spec: { selector: { matchLabels: { case: "other" } } } };
  const message = await world.refused(() => world.patch("idle", "merge", selector, markers), 400);
  assert.match(message, /selector must be immutable/);
}

async function deleted(world: World): Promise<void> {
  const [before] = await world.livePodsOf("probed");
  await world.remove(markers, "idle");
  await world.until("no node probes for it", async () => {
    assert.deepEqual(await probesOf(world), []);
    assert.deepEqual(await world.list(markers), []);
  });
  const [after] = await world.livePodsOf("probed");
  assert.deepEqual(after && marksOf(after), before && marksOf(before));
}

function marksOf(pod: Item): object {
  return {
    condition: pod.status?.conditions?.find(({ type }) => type === conditionType)?.status,
    cost: pod.metadata.annotations?.[cost],
    label: pod.metadata.labels?.["state"],
  };
}

function podIP(pod: Item): string {
  return String(pod.status?.["podIP"] ?? "");
}

/** `pod uid address probe` of everything that nodes are to probe in this namespace. */
async function probesOf(world: World): Promise<string[]> {
  const objects = await world.api.list(nodeProbes);
  return objects.flatMap((object) =>
    records(object.spec?.["podProbes"])
      .filter((entry) => entry["namespace"] === world.namespace)
      .flatMap((entry) =>
        records(entry["probes"]).map(
          (probe) => `${entry["name"]} ${entry["uid"]} ${entry["IP"]} ${probe["name"]}`,
        ),
      ),
  );
}

function records(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Makes or removes the file in the pod's container; simulated containers have the files that an annotation names. */
async function setFile(world: World, pod: Item, present: boolean): Promise<void> {
  const { name } = pod.metadata;
  if (world.simulated) {
    const annotations = { "sandbox.refit.dev/files": present ? "/tmp/idle" : null };
    await world.patch(name, "merge", { metadata: { annotations } }, "pods");
    return;
  }
  const command = present ? ["touch", "/tmp/idle"] : ["rm", "-f", "/tmp/idle"];
  const place = ["--kubeconfig", world.kubeconfig, "-n", world.namespace];
  await new Promise<void>((resolve, reject) => {
    const words = [...place, "exec", name, "-c", "main", "--", ...command];
    execFile("kubectl", words, { timeout: 30_000 }, (error) => (error ? reject(error) : resolve()));
  });
}
