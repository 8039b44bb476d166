/** What becomes of markers and of what nodes get when objects go, change or are malformed while they are written. */
import t, { type Test } from "tap";
import { applyMergePatch, type JsonObject, own } from "../../../kube/core/index.ts";
import {
  Cache,
  type Client,
  KubeError,
  type KubeErrorCode,
  nodeResource,
  type Resource,
} from "../../../kube/index.ts";
import { kindDeps } from "../../../testkit/controller/kind_deps_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import { pod } from "../../../testkit/kube/pod_manifest_builder.ts";
import { nodePodProbeResource, podProbeMarkerResource } from "../../plan/resources.ts";
import type { Informers } from "../../runtime/informers.ts";
import { controllerOptions } from "../../runtime/options.ts";
import { Shell } from "../../runtime/shell.ts";
import { NodePodProbeReconciler } from "./node_reconcile.ts";
import { PodProbeMarkerReconciler } from "./reconcile.ts";

const key = "ns/idle";
const finalizer = "kruise.io/node-pod-probe-cleanup";
const probe = {
  name: "idle",
  containerName: "main",
  podConditionType: "game/idle",
  probe: { exec: { command: ["x"] } },
};

const markerJson = (metadata: JsonObject = {}, spec: JsonObject = {}): JsonObject => ({
  metadata: { name: "idle", namespace: "ns", uid: "m1", generation: 1, resourceVersion: "1", ...metadata },
  spec: { selector: { matchLabels: { app: "web" } }, probes: [probe], ...spec },
});

const webPod = pod(
  "web",
  { app: "web" },
  {
    spec: { nodeName: "n1", containers: [{ name: "main", image: "i" }] },
    status: { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Initialized", status: "True" }] },
  },
);

function decoded<T>(resource: Resource<T>, object: object): T {
  return resource.codec.decode(Buffer.from(JSON.stringify(object)), "application/json");
}

/** Both shells over one server with a node and a pod; `refuse` names the error of a write: `patch podprobemarkers`. */
function scene(t: Test, refuse: (write: string) => KubeErrorCode | undefined = () => undefined) {
  const server = fakeServer();
  const clock = testClock();
  const stored = new Map<string, JsonObject>();
  const writes: string[] = [];
  let version = 10;
  const store = <T>(
    verb: string,
    resource: Resource<T>,
    name: string,
    made: (old: JsonObject) => JsonObject,
  ) => {
    const write = `${verb} ${resource.plural}`;
    const code = refuse(write);
    if (code !== undefined) throw new KubeError(code, `${write}: ${code}`);
    writes.push(write);
    const next = made(stored.get(name) ?? {});
    const object = { ...next, metadata: { ...Object(next["metadata"]), resourceVersion: String(++version) } };
    stored.set(name, object);
    return decoded(resource, object);
  };
  const client: Client = {
    ...server.client,
    create: async (resource, _, body) =>
      store("create", resource, String(own(Object(Object(body).metadata), "name")), () => ({
        ...Object(body),
      })),
    patch: async (resource, { name }, { body }, { subresource } = {}) =>
      store(`patch${subresource ? ` ${subresource} of` : ""}`, resource, name, (old) =>
        applyMergePatch(old, body),
      ),
    delete: async (resource, { name }) => {
      writes.push(`delete ${resource.plural}`);
      stored.delete(name);
      return undefined;
    },
  };
  const initial = controllerOptions();
  const options = { ...initial, gates: { ...initial.gates, EnablePodProbeMarkerOnServerless: true } };
  const ofMarkers = { ...kindDeps(podProbeMarkerResource, client, clock), options };
  const ofNodes = kindDeps(nodePodProbeResource, client, clock);
  t.teardown(() => Promise.all([ofMarkers.stop(), ofNodes.stop()]));
  const { objects: markers, caches, queue } = ofMarkers;
  const { objects: probes, log } = ofNodes;
  const feeds: ((object: JsonObject) => void)[] = [];
  const cacheOf: Informers["cacheOf"] = <T>(resource: Resource<T>, indexes = {}) => {
    const cache = new Cache<T>({ identify: resource.codec.identify, indexes });
    feeds.push((object) => cache.upsert(decoded(resource, object)));
    return cache;
  };
  const informers = { cacheOf };
  /** An object of another kind than the shell's own, as the watch brings it. */
  const see = (object: JsonObject) => {
    for (const feed of feeds) feed(object);
  };
  return {
    server,
    clock,
    queue,
    log,
    writes,
    stored,
    markers,
    probes,
    nodes: caches.nodes,
    putMarker(object: JsonObject) {
      const marker = decoded(podProbeMarkerResource, object);
      stored.set(marker.metadata.name ?? "", object);
      markers.upsert(marker);
    },
    putNode: (uid = "n1", resourceVersion = "1") =>
      caches.nodes.upsert(
        decoded(nodeResource, {
          metadata: { name: "n1", uid, resourceVersion },
          status: { conditions: [{ type: "Ready", status: "True" }] },
        }),
      ),
    removeNode: () => caches.nodes.remove("n1", "n1"),
    ofMarkers() {
      const deps = { ...ofMarkers, informers };
      return new Shell(deps, new PodProbeMarkerReconciler(deps));
    },
    /** With what it sees of markers. */
    ofNodes() {
      const deps = { ...ofNodes, caches, informers };
      const shell = new Shell(deps, new NodePodProbeReconciler(deps));
      return { shell, seeMarker: see };
    },
    see,
  };
}

t.test("a new marker gets its finalizer and tells how many pods it probes", async (t) => {
  const { server, clock, writes, markers, putMarker, putNode, ofMarkers } = scene(t);
  server.put("pods", webPod);
  putNode();
  putMarker(markerJson());
  const shell = ofMarkers();
  await shell.reconcile(key);
  await clock.settle();
  await shell.reconcile(key);
  await shell.reconcile(key);
  t.same(writes, ["patch podprobemarkers", "patch status of podprobemarkers"], "nothing is written twice");
  t.match(markers.get(key), { metadata: { finalizers: [finalizer] }, status: { matchedPods: 1 } });
});

t.test("a marker of few pods is looked at within 50 ms of a change of theirs", async (t) => {
  const { server, clock, queue, putMarker, putNode, ofMarkers } = scene(t);
  server.put("pods", webPod);
  putNode();
  putMarker(markerJson());
  const shell = ofMarkers();
  await shell.reconcile(key);
  await clock.settle();
  queue.done((await queue.next()) ?? "");
  server.put("pods", { ...webPod, metadata: { ...webPod.metadata, name: "web-2", uid: "web-2" } });
  await clock.settle();
  t.equal(queue.depth, 0, "others may follow");
  await clock.advance(50);
  t.equal(queue.depth, 1);
});

t.test("two markers that set one label of a pod without an agent do not take turns", async (t) => {
  const { server, clock, nodes, stored, writes, putMarker, ofMarkers } = scene(t);
  const names = ["idle", "later"];
  for (const name of names) {
    const markerPolicy = [{ state: "Succeeded", labels: { state: name } }];
    const marker = markerJson(
      { name, uid: name, finalizers: [finalizer] },
      { probes: [{ ...probe, markerPolicy }] },
    );
    putMarker(marker);
  }
  const labels = { type: "virtual-kubelet" };
  nodes.upsert(decoded(nodeResource, { metadata: { name: "n1", uid: "n1", resourceVersion: "1", labels } }));
  const conditions = ["Initialized", "game/idle"].map((type) => ({ type, status: "True" }));
  stored.set("web", { ...webPod, status: { phase: "Running", podIP: "10.0.0.1", conditions } });
  const shell = ofMarkers();
  for (let round = 0; round < 10; round++) {
    for (const name of names) {
      server.put("pods", { ...webPod, ...stored.get("web") });
      await clock.advance(100);
      await shell.reconcile(`ns/${name}`);
    }
  }
  t.equal(writes.filter((write) => write === "patch status of pods").length, 1);
  t.match(stored.get("web"), { metadata: { labels: { state: "later" } } });
});

t.test("a marker that goes while it is written needs nothing any more", async (t) => {
  const { clock, writes, markers, putMarker, ofMarkers } = scene(t, () => "NotFound");
  putMarker(markerJson());
  const shell = ofMarkers();
  t.same(await shell.reconcile(key), { requeueAfterMs: 100 }, "its end is on its way");
  await clock.settle();
  markers.remove(key, "m1");
  t.same(await shell.reconcile(key), {});
  t.same(await shell.reconcile("ns/other"), {}, "one that was never there");
  t.same(writes, []);
});

t.test("pods of a marker that is gone before its write is answered are not watched", async (t) => {
  const { server, clock, putMarker, markers, ofMarkers } = scene(t, () => {
    markers.remove(key, "m1");
    shell.forget(key, "m1");
    return "NotFound";
  });
  putMarker(markerJson());
  const shell = ofMarkers();
  t.same(await shell.reconcile(key), { requeueAfterMs: 100 });
  t.same(await shell.reconcile(key), {});
  await clock.settle();
  t.equal(server.openWatches, 0);
});

t.test(
  "finalizers that somebody else has changed are read anew: the write is not repeated blindly",
  async (t) => {
    let conflicts = 1;
    const { putMarker, markers, ofMarkers } = scene(t, (write) =>
      write === "patch podprobemarkers" && conflicts-- > 0 ? "Conflict" : undefined,
    );
    putMarker(markerJson());
    const shell = ofMarkers();
    t.same(await shell.reconcile(key), { requeueAfterMs: 100 });
    t.same(markers.get(key)?.metadata.finalizers, undefined);
    putMarker(markerJson({ finalizers: ["theirs"], resourceVersion: "2" }));
    await shell.reconcile(key);
    t.same(markers.get(key)?.metadata.finalizers, ["theirs", finalizer]);
  },
);

t.test("a marker on its way out is let go once no node has its probes", async (t) => {
  const { putMarker, markers, writes, see, ofMarkers } = scene(t);
  putMarker(markerJson({ finalizers: ["theirs", finalizer], deletionTimestamp: "2026-01-01T00:00:00Z" }));
  const shell = ofMarkers();
  const entry = { namespace: "ns", name: "web", uid: "uid-web", probes: [{ ...probe, name: "idle#idle" }] };
  const metadata = { name: "n1", uid: "p1" };
  see({ metadata: { ...metadata, resourceVersion: "1" }, spec: { podProbes: [entry] } });
  await shell.reconcile(key);
  t.same(writes, [], "a node still has its probe");
  see({ metadata: { ...metadata, resourceVersion: "2" }, spec: {} });
  await shell.reconcile(key);
  t.same(markers.get(key)?.metadata.finalizers, ["theirs"]);
  t.same(writes, ["patch podprobemarkers"]);
});

t.test("a node's probes are made, follow the node's end, and are made anew for a new one", async (t) => {
  const { server, clock, writes, probes, putNode, removeNode, ofNodes } = scene(t);
  server.put("pods", webPod);
  putNode();
  const { shell, seeMarker } = ofNodes();
  seeMarker(markerJson());
  await clock.settle();
  await shell.reconcile("n1");
  t.match(probes.get("n1")?.spec.podProbes, [{ name: "web", probes: [{ name: "idle#idle" }] }]);
  await shell.reconcile("n1");
  t.same(writes, ["create nodepodprobes"], "nothing is written twice");
  removeNode();
  await shell.reconcile("n1");
  t.equal(probes.get("n1"), undefined);
  await shell.reconcile("n1");
  t.same(writes.slice(1), ["delete nodepodprobes"], "nothing is left to delete");
  putNode("n2", "2");
  await shell.reconcile("n1");
  t.same(writes.slice(2), ["create nodepodprobes"]);
});

for (const code of ["NotFound", "AlreadyExists"] as const) {
  t.test(`a NodePodProbe that somebody else wrote first is no failure: ${code}`, async (t) => {
    const { server, clock, writes, putNode, ofNodes } = scene(t, () => code);
    server.put("pods", webPod);
    putNode();
    const { shell, seeMarker } = ofNodes();
    seeMarker(markerJson());
    await clock.settle();
    t.same(await shell.reconcile("n1"), { requeueAfterMs: 100 }, "it is on its way");
    t.same(writes, []);
  });
}

t.test("a malformed selector is reported, and other markers are served", async (t) => {
  const { server, clock, log, probes, putNode, ofNodes } = scene(t);
  server.put("pods", webPod);
  putNode();
  const { shell, seeMarker } = ofNodes();
  const selector = { matchExpressions: [{ key: "app", operator: "Near", values: ["web"] }] };
  seeMarker(markerJson({ name: "broken", uid: "m0" }, { selector }));
  seeMarker(markerJson());
  await clock.settle();
  await shell.reconcile("n1");
  t.match(probes.get("n1")?.spec.podProbes, [{ probes: [{ name: "idle#idle" }] }]);
  t.match(log.lines, [{ message: /selects no pods/ }]);
});
