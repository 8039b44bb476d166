/** The view of nodes, from a cluster with simulated nodes and their agents. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { startControlledSandbox } from "../../../testkit/cli/controlled_sandbox.ts";
import { follow, startPage } from "../../../testkit/cli/live_page.ts";
import type { Item } from "../shared/items.ts";
import type { NodeItem } from "../shared/node_items.ts";

const { sandbox, api, stopController } = await startControlledSandbox(t, {
  seed: 5,
  gates: "ImagePullJobGate=true",
});
const kubeconfig = join(t.testdir(), "kubeconfig");
writeFileSync(kubeconfig, sandbox.kubeconfig);
const page = await startPage(`--kubeconfig ${kubeconfig}`);

const kruise = "/apis/apps.kruise.io/v1beta1/namespaces/default";
const path = "/events?workload=nodes";
const nodesIn = (state: ReadonlyMap<string, Item>): NodeItem[] =>
  [...state.values()].filter((item) => item.is === "node");
const names = [...sandbox.cluster.list("nodes")].map(({ metadata }) => metadata.name ?? "");
const [first = ""] = names;

t.test("nodes are told with their zone, their pods and what keeps pods away", async (t) => {
  const { state, until } = follow(t, page, path);
  const node = () => nodesIn(state).find(({ name }) => name === first);
  await until(() => nodesIn(state).length === names.length);
  t.equal(node()?.isReady, true);
  t.equal(state.get("unread"), undefined);
  await api.patch(`/api/v1/nodes/${first}`, {
    metadata: { labels: { "topology.kubernetes.io/zone": "east" } },
    spec: { unschedulable: true },
  });
  await until(() => node()?.reason === "Cordoned" && node()?.zone === "east");
  await api.patch(`/api/v1/nodes/${first}`, { spec: { unschedulable: null } });
  await until(() => node()?.state === "done");
  const labels = { app: "web" };
  await api.post(`${kruise}/clonesets`, {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "CloneSet",
    metadata: { name: "web" },
    spec: {
      replicas: 6,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } },
      updateStrategy: { rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 6 } },
    },
  });
  await until(() => nodesIn(state).reduce((sum, { pods }) => sum + pods, 0) >= 6);
});

t.test("what agents are asked for is there while it goes on, and gone after it", async (t) => {
  const { state, until } = follow(t, page, path);
  const work = () => nodesIn(state).flatMap((node) => node.work);
  const update = (image: string) =>
    api.patch(`${kruise}/clonesets/web`, {
      spec: { template: { spec: { containers: [{ name: "web", image }] } } },
    });
  await until(() => nodesIn(state).length === names.length && work().length === 0);
  // The page is told ten times a second: what is over sooner is never seen, and no node has these images.
  await update("nginx:99.97");
  await until(() => work().some(({ kind }) => kind === "inPlace"));
  await update("web:2");
  await until(() => work().length === 0);
  await api.post(`${kruise}/imagepulljobs`, {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ImagePullJob",
    metadata: { name: "pull" },
    spec: { image: "nginx:99.98", completionPolicy: { type: "Always" } },
  });
  await until(() => work().some(({ kind, what }) => kind === "pull" && what === "nginx:99.98"));
  await until(() => nodesIn(state).every(({ agent }) => agent.heardAt !== undefined));
  await api.delete(`${kruise}/imagepulljobs/pull`);
  await until(() => work().length === 0);
});

t.test("a pull that fails needs somebody, with the command that shows more", async (t) => {
  const { state, until } = follow(t, page, path);
  await api.post(`${kruise}/imagepulljobs`, {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ImagePullJob",
    metadata: { name: "broken" },
    spec: {
      image: "nginx:99.99",
      selector: { names: [first] },
      completionPolicy: { type: "Always" },
      pullPolicy: { backoffLimit: 0 },
    },
  });
  const failing = () => nodesIn(state).filter((node) => node.state === "stuck");
  await until(() => failing().length > 0);
  t.match(failing(), [
    {
      name: first,
      reason: "PullFailed",
      command: `kubectl get nodeimage ${first} -o yaml`,
      work: [{ kind: "pull", what: "nginx:99.99", phase: "Failed" }],
    },
  ]);
});

t.test("it ends when it is asked to, and the controller after it", async (t) => {
  t.equal(await page.stop(), 0);
  t.equal((await stopController()).code, 0);
});
