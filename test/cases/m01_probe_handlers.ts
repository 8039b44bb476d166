/** Handlers of probes, several markers on the same pods of any owner, and what follows when markers change. */
import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { conditionOf, records } from "./items.ts";
import { container, nativeWorkload } from "./manifests.ts";
import { probedPods } from "./node_pod_probes.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const markers = "podprobemarkers.v1alpha1.apps.kruise.io";
const deployments = "deployments.v1.apps";
const cost = "controller.kubernetes.io/pod-deletion-cost";

export const suite: Suite = {
  number: "m01",
  title: "Probe handlers, several markers, changes of markers",
  needs: ["agent"],
  versions: ["v1alpha1"],
  async run(world) {
    await world.step("two markers mark the pods of a Deployment", () => twoMarkers(world));
    await world.step("failing commands take back, mended ones bring back", () => changes(world));
    await world.step("probes follow the pods that live", () => follows(world));
    await world.step("tcpSocket and httpGet, by number and by name", () => handlers(world));
    await world.step("a message follows its text while the state stays", () => messages(world));
    await world.step("a marker that goes leaves the others' probes and addresses", () => goes(world));
  },
};

const succeeds = { exec: { command: ["ls", "/"] }, periodSeconds: 1 };
const fails = { exec: { command: ["ls", "/no-such-file"] }, periodSeconds: 1 };

function marker(name: string, probes: object[]): object {
  return {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "PodProbeMarker",
    metadata: { name },
    spec: { selector: { matchLabels: { case: "game" } }, probes },
  };
}

const healthy = (probe: object) => ({
  name: "healthy",
  containerName: "main",
  podConditionType: "game.kruise.io/healthy",
  markerPolicy: [{ state: "Succeeded", labels: { nginx: "healthy" } }],
  probe,
});

const check = (probe: object) => ({
  name: "check",
  containerName: "main",
  podConditionType: "game.kruise.io/check",
  markerPolicy: [
    { state: "Succeeded", annotations: { [cost]: "10" } },
    { state: "Failed", annotations: { [cost]: "-10" } },
  ],
  probe,
});

const replace = (name: string, probe: object, world: World) =>
  world.patch(markers, name, "json", [{ op: "replace", path: "/spec/probes/0/probe", value: probe }]);

async function untilMarks(world: World, count: number, expected: object): Promise<void> {
  await world.until(JSON.stringify(expected), async () => {
    const pods = await podsOf(world);
    assert.equal(pods.length, count);
    for (const pod of pods) assert.deepEqual(marksOf(pod), expected);
  });
}

async function twoMarkers(world: World): Promise<void> {
  const main = container("main", "nginx:1.20", { ports: [{ name: "web", containerPort: 80 }] });
  const shape = { containers: [main], more: { replicas: 2 } };
  await world.apply(nativeWorkload("apps/v1", "Deployment", "game", shape));
  await world.apply(marker("first", [healthy(succeeds)]));
  await world.apply(marker("second", [check(succeeds)]));
  await untilMarks(world, 2, { healthy: "True", check: "True", label: "healthy", cost: "10" });
}

async function changes(world: World): Promise<void> {
  await replace("first", fails, world);
  await replace("second", fails, world);
  await untilMarks(world, 2, { healthy: "False", check: "False", label: undefined, cost: "-10" });
  await replace("first", succeeds, world);
  await untilMarks(world, 2, { healthy: "True", check: "False", label: "healthy", cost: "-10" });
}

async function follows(world: World): Promise<void> {
  const scale = (replicas: number) => world.patch(deployments, "game", "merge", { spec: { replicas } });
  for (const replicas of [1, 3]) {
    await scale(replicas);
    await world.until(`${replicas} pods are probed`, async () => {
      const uids = (await podsOf(world)).map((pod) => String(pod.metadata.uid));
      assert.equal(uids.length, replicas);
      assert.deepEqual((await probedPods(world)).map((entry) => String(entry["uid"])).sort(), uids.sort());
      const { status } = await world.object(markers, "first");
      assert.equal(status?.["matchedPods"], replicas);
    });
  }
  await untilMarks(world, 3, { healthy: "True", check: "False", label: "healthy", cost: "-10" });
}

async function handlers(world: World): Promise<void> {
  const after = async (action: object, expected: string) => {
    await replace("first", { ...action, periodSeconds: 1 }, world);
    await world.until(`${JSON.stringify(action)} ${expected}`, async () => {
      for (const pod of await podsOf(world)) assert.equal(statusOf(pod, "game.kruise.io/healthy"), expected);
    });
  };
  await after({ tcpSocket: { port: 8081 } }, "False");
  await after({ tcpSocket: { port: 80 } }, "True");
  await after({ httpGet: { port: 8081, path: "/", scheme: "HTTP" } }, "False");
  await after({ httpGet: { port: "web", path: "/", scheme: "HTTP" } }, "True");
  const ports = (await probedPods(world)).flatMap((entry) =>
    records(entry["probes"])
      .filter(({ name }) => name === "first#healthy")
      .map(({ probe }) => Object(probe).httpGet.port),
  );
  assert.deepEqual(ports, [80, 80, 80], "names of ports are resolved");
}

async function messages(world: World): Promise<void> {
  await replace("first", { exec: { command: ["date", "+%s"] }, periodSeconds: 1 }, world);
  const seen = new Set<string>();
  await world.once("three texts", async () => {
    const [pod] = await podsOf(world);
    const condition = conditionOf(pod, "game.kruise.io/healthy");
    assert.equal(condition?.status, "True");
    if (/^\d+\s*$/.test(condition?.message ?? "")) seen.add(condition?.message ?? "");
    assert.ok(seen.size >= 3, [...seen].join(", "));
  });
}

async function goes(world: World): Promise<void> {
  const both = ["first#healthy", "second#check"];
  const names = (entry: Record<string, unknown>) => records(entry["probes"]).map(({ name }) => String(name));
  for (const entry of await probedPods(world)) assert.deepEqual(names(entry).sort(), both);
  await world.remove(markers, "first");
  await world.until("only the second is left", async () => {
    const pods = new Map((await podsOf(world)).map((pod) => [pod.metadata.uid, pod.status?.["podIP"]]));
    const entries = await probedPods(world);
    assert.equal(entries.length, 3);
    for (const entry of entries) {
      assert.deepEqual(names(entry), ["second#check"]);
      assert.equal(entry["IP"], pods.get(String(entry["uid"])));
    }
  });
  await replace("second", { tcpSocket: { port: 80 }, periodSeconds: 1 }, world);
  await world.until("the other goes on", async () => {
    for (const pod of await podsOf(world)) {
      assert.equal(statusOf(pod, "game.kruise.io/check"), "True");
      assert.equal(pod.metadata.labels?.["nginx"], "healthy", "what a marker left stays");
    }
  });
  await world.remove(markers, "second");
  await world.until("nothing is probed", async () => assert.deepEqual(await probedPods(world), []));
}

async function podsOf(world: World): Promise<Item[]> {
  const pods = await world.list("pods", "case=game");
  return pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
}

function statusOf(pod: Item, type: string): string | undefined {
  return conditionOf(pod, type)?.status;
}

function marksOf(pod: Item): object {
  return {
    healthy: statusOf(pod, "game.kruise.io/healthy"),
    check: statusOf(pod, "game.kruise.io/check"),
    label: pod.metadata.labels?.["nginx"],
    cost: pod.metadata.annotations?.[cost],
  };
}
