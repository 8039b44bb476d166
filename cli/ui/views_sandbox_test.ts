/** What the page tells of workloads of several kinds, from a cluster with simulated nodes. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { startControlledSandbox } from "../../testkit/cli/controlled_sandbox.ts";
import { follow, startPage } from "../../testkit/cli/live_page.ts";
import { rolloutKey } from "./shared/detail_items.ts";
import type { Item, PodItem } from "./shared/items.ts";

const { sandbox, api, stopController } = await startControlledSandbox(t, {
  seed: 11,
  gates: "ImagePullJobGate=true",
});
const kubeconfig = join(t.testdir(), "kubeconfig");
writeFileSync(kubeconfig, sandbox.kubeconfig);
const page = await startPage(`--kubeconfig ${kubeconfig}`);

const kruise = "/apis/apps.kruise.io/v1beta1/namespaces/default";
const streamOf = (key: string): string => `/events?workload=${encodeURIComponent(key)}`;
const podsIn = (state: ReadonlyMap<string, Item>): PodItem[] =>
  [...state.values()].filter((item) => item.is === "pod");

/** Labels, selector and template of a workload whose pods have one container. */
function templated(app: string, image: string) {
  const labels = { app };
  const template = { metadata: { labels }, spec: { containers: [{ name: "web", image }] } };
  return { selector: { matchLabels: labels }, template };
}

t.test("pods have the zones of their nodes and the subsets of their UnitedDeployment", async (t) => {
  const nodes = [...sandbox.cluster.list("nodes")].map(({ metadata }) => metadata.name ?? "");
  for (const [index, name] of nodes.entries())
    await api.patch(`/api/v1/nodes/${name}`, {
      metadata: { labels: { "topology.kubernetes.io/zone": `zone-${index % 2}` } },
    });
  const { selector, template } = templated("united", "web:1");
  await api.post(`${kruise}/uniteddeployments`, {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "UnitedDeployment",
    metadata: { name: "united", labels: { team: "shop" } },
    spec: {
      replicas: 4,
      selector,
      template: {
        cloneSetTemplate: { metadata: { labels: { app: "united" } }, spec: { selector, template } },
      },
      topology: { subsets: [{ name: "a", replicas: 1 }, { name: "b" }] },
    },
  });
  const fleet = follow(t, page, "/events");
  const key = "uniteddeployments.apps.kruise.io/default/united";
  await fleet.until(() => fleet.state.has(key));
  t.match(fleet.state.get(key), { labels: { team: "shop" } });
  const workload = follow(t, page, streamOf(key));
  await workload.until(() => podsIn(workload.state).filter(({ state }) => state === "ready").length === 4);
  const subsets = podsIn(workload.state).map(({ subset }) => subset);
  t.strictSame(subsets.sort(), ["a", "b", "b", "b"]);
  for (const { node, zone } of podsIn(workload.state)) t.equal(zone, `zone-${nodes.indexOf(node) % 2}`);
  const counts = () =>
    [...workload.state.values()].flatMap((item) =>
      item.is === "subset" ? `${item.name}: ${item.wanted} (${item.given})` : [],
    );
  await workload.until(() => counts().join() === "a: 1 (1),b: 3 ()");
  const [{ node } = { node: "" }] = podsIn(workload.state);
  await api.patch(`/api/v1/nodes/${node}`, {
    metadata: { labels: { "topology.kubernetes.io/zone": "moved" } },
  });
  await workload.until(() =>
    podsIn(workload.state).every((pod) => (pod.node === node) === (pod.zone === "moved")),
  );
});

t.test("a partition is told as it was given, and as it is lowered", async (t) => {
  const clones = `${kruise}/clonesets`;
  const strategy = (partition: string) => ({ updateStrategy: { rollingUpdate: { partition } } });
  const spec = { replicas: 4, ...templated("held", "web:1"), ...strategy("50%") };
  await api.post(clones, {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "CloneSet",
    metadata: { name: "held" },
    spec,
  });
  const fleet = follow(t, page, "/events");
  const key = "clonesets.apps.kruise.io/default/held";
  await fleet.until(() => fleet.state.has(key));
  const workload = follow(t, page, streamOf(key));
  const scale = () => {
    const item = workload.state.get(rolloutKey);
    return item?.is === "rollout" ? item.scales[0] : undefined;
  };
  await workload.until(() => scale()?.given === "50%");
  t.match(scale(), { total: 4, kept: 2 });
  await api.patch(`${clones}/held`, { spec: { ...strategy("25%"), ...templated("held", "web:2") } });
  await workload.until(() => scale()?.kept === 1 && scale()?.updated === 3);
  t.match(scale(), { label: "partition", given: "25%", total: 4 });
});

t.test("revisions are told with what changed, and events of the workload and its pods", async (t) => {
  const stream = follow(t, page, streamOf("clonesets.apps.kruise.io/default/held"));
  const all = () => [...stream.state.values()];
  const revisions = () => all().filter((item) => item.is === "revision");
  await stream.until(() => revisions().length === 2);
  const newest = revisions().find(({ number }) => number === 2);
  t.match(newest, { images: ["web:2"], since: 1, moreChanges: 0 });
  t.match(newest?.changes, [{ path: "template.spec.containers[web].image", from: "web:1", to: "web:2" }]);
  const about = (kind: string) => all().some((item) => item.is === "event" && item.kind === kind);
  await stream.until(() => about("CloneSet") && about("Pod"));
  for (const item of all()) if (item.is === "event") t.match(item.name, /^held(-|$)/);
  t.equal(stream.state.get("unread"), undefined);
});

t.test("a recreate request and an image pull are told until they are done", async (t) => {
  const stream = follow(t, page, streamOf("clonesets.apps.kruise.io/default/held"));
  await stream.until(() => podsIn(stream.state).filter(({ state }) => state === "ready").length === 4);
  const [{ name, node } = { name: "", node: "" }] = podsIn(stream.state);
  await api.post(`${kruise}/containerrecreaterequests`, {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ContainerRecreateRequest",
    metadata: { name: "again" },
    spec: { podName: name, containers: [{ name: "web" }] },
  });
  for (const [pull, image] of [
    ["ours", "web:2"],
    ["other", "unrelated:1"],
  ])
    await api.post(`${kruise}/imagepulljobs`, {
      apiVersion: "apps.kruise.io/v1beta1",
      kind: "ImagePullJob",
      metadata: { name: pull },
      spec: { image, completionPolicy: { type: "Always" } },
    });
  const recreate = () => stream.state.get("recreate/again");
  await stream.until(() => {
    const item = recreate();
    return item?.is === "recreate" && item.phase === "Completed";
  });
  t.match(recreate(), { pod: name, node, containers: [{ name: "web", phase: "Succeeded" }] });
  await stream.until(() => {
    const item = stream.state.get("pull/ours");
    return item?.is === "pull" && item.desired === 3 && item.succeeded === 3;
  });
  t.equal(stream.state.has("pull/other"), false, "no pod of it has that image");
});

t.test("sidecars of a SidecarSet are counted by owner, and again when the set changes", async (t) => {
  const sets = "/apis/apps.kruise.io/v1beta1/sidecarsets";
  const containers = (image: string) => ({ containers: [{ name: "side", image }] });
  await api.post(sets, {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "SidecarSet",
    metadata: { name: "proxy" },
    spec: {
      selector: { matchLabels: { app: "held" } },
      updateStrategy: { type: "NotUpdate" },
      ...containers("side:1"),
    },
  });
  const fleet = follow(t, page, "/events");
  const key = "sidecarsets.apps.kruise.io/proxy";
  await fleet.until(() => fleet.state.has(key));
  await api.patch(`${kruise}/clonesets/held`, { spec: { replicas: 5 } });
  const stream = follow(t, page, streamOf(key));
  const owner = () => stream.state.get("owner/default/CloneSet/held");
  await stream.until(() => {
    const item = owner();
    return item?.is === "owner" && item.updated === 1;
  });
  t.match(owner(), { pods: 1, versions: [{ pods: 1, isNewest: true }] });
  const revisions = () =>
    [...stream.state.values()].flatMap((item) => (item.is === "pod" ? item.revision : []));
  const newest = () => {
    const set = stream.state.get(key);
    return set?.is === "workload" ? set.revision : "";
  };
  await stream.until(() => newest() !== "" && revisions().join() === newest());
  await api.patch(`${sets}/proxy`, { spec: containers("side:2") });
  await stream.until(() => {
    const item = owner();
    return item?.is === "owner" && item.updated === 0;
  });
  t.match(owner(), { pods: 1, versions: [{ pods: 1, isNewest: false }] });
  await stream.until(() => revisions().length === 1 && !revisions().includes(newest()));
});

t.test("it ends when it is asked to, and the controller after it", async (t) => {
  t.equal(await page.stop(), 0);
  t.equal((await stopController()).code, 0);
});
