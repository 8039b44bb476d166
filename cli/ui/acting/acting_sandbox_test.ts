/** `refit ui --allow-changes` against a cluster: what is asked of it by HTTP is seen in the objects. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { startControlledSandbox } from "../../../testkit/cli/controlled_sandbox.ts";
import { follow, type Page, startPage } from "../../../testkit/cli/live_page.ts";
import { numberAt } from "../../fields.ts";
import type { ActionAnswer, ActionRequest } from "../shared/actions.ts";
import type { PodItem, WorkloadItem } from "../shared/items.ts";

const { sandbox, api, stopController } = await startControlledSandbox(t, {
  seed: 7,
  gates: "ImagePullJobGate=false",
});
const kubeconfig = join(t.testdir(), "kubeconfig");
writeFileSync(kubeconfig, sandbox.kubeconfig);

const clones = "/apis/apps.kruise.io/v1beta1/namespaces/default/clonesets";
const workload = "clonesets.apps.kruise.io/default/web";

await api.post(clones, {
  apiVersion: "apps.kruise.io/v1beta1",
  kind: "CloneSet",
  metadata: { name: "web" },
  spec: {
    replicas: 4,
    selector: { matchLabels: { app: "web" } },
    updateStrategy: { rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 4 } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "web", image: "web:1" }] },
    },
  },
});
const page = await startPage(`--kubeconfig ${kubeconfig} --allow-changes`);
const fleet = follow(t, page, "/events");
const opened = follow(t, page, `/events?workload=${encodeURIComponent(workload)}`);

async function until(holds: (item: WorkloadItem) => boolean): Promise<void> {
  await fleet.until(() => {
    const item = fleet.state.get(workload);
    return item?.is === "workload" && holds(item);
  });
}

/** Until the status says all that it will: a command that reads the object before its last write is refused. */
async function settled(updated: number): Promise<void> {
  const all = { readyReplicas: 4, availableReplicas: 4 };
  const ofThem = {
    updatedReplicas: updated,
    updatedReadyReplicas: updated,
    updatedAvailableReplicas: updated,
  };
  const counts = Object.entries({ ...all, ...ofThem });
  for (let attempt = 0; attempt < 600; attempt++) {
    const object = await api.get(`${clones}/web`);
    const isObserved =
      numberAt(object, "status", "observedGeneration") === numberAt(object, "metadata", "generation");
    const isThere = counts.every(([name, count]) => numberAt(object, "status", name) === count);
    if (isObserved && isThere) return;
    await sleep(50);
  }
  throw new Error(`the status never counted ${updated} updated pods`);
}

const pods = (): PodItem[] => [...opened.state.values()].filter((item) => item.is === "pod");

function ask({ address, cookie }: Page, request: ActionRequest): Promise<Response> {
  const headers = { cookie, origin: address, "content-type": "application/json" };
  return fetch(`${address}/actions`, { method: "POST", headers, body: JSON.stringify(request) });
}

async function act(request: ActionRequest): Promise<ActionAnswer> {
  const answer = await ask(page, request);
  if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
  const { code, text }: ActionAnswer = JSON.parse(await answer.text());
  return { code, text };
}

t.test("a rollout is paused, resumed, promoted and undone", async (t) => {
  await settled(4);
  t.strictSame(await act({ action: "pause", workload }), {
    code: 0,
    text: "cloneset.apps.kruise.io/web paused\n",
  });
  await until(({ isPaused }) => isPaused);
  await settled(4);
  t.strictSame(await act({ action: "pause", workload }), {
    code: 1,
    text: 'error: clonesets.apps.kruise.io "web" is already paused\n',
  });
  await api.patch(`${clones}/web`, {
    spec: {
      updateStrategy: { rollingUpdate: { partition: 4 } },
      template: { spec: { containers: [{ name: "web", image: "web:2" }] } },
    },
  });
  await settled(0);
  t.match(await act({ action: "resume", workload }), { code: 0, text: /resumed/ });
  await until(({ isPaused, partition }) => !isPaused && partition === 4);
  await settled(0);
  t.match(await act({ action: "promote", workload, by: "step", amount: 1 }), {
    text: "cloneset.apps.kruise.io/web promoted: partition 4 -> 3\n",
  });
  await settled(1);
  t.match(await act({ action: "promote", workload, by: "to", amount: "50%" }), { text: /3 -> 50%/ });
  await settled(2);
  t.match(await act({ action: "partition", workload, amount: "75%" }), {
    code: 0,
    text: /partition 50% -> 75%/,
  });
  t.match(await act({ action: "promote", workload, by: "to", amount: 0 }), { text: /75% -> 0/ });
  await settled(4);
  const listed = await fetch(`${page.address}/revisions?workload=${encodeURIComponent(workload)}`, {
    headers: { cookie: page.cookie },
  });
  t.strictSame(JSON.parse(await listed.text()), [
    { number: 2, text: "web:2" },
    { number: 1, text: "web:1" },
  ]);
  t.match(await act({ action: "undo", workload, revision: 0 }), { code: 0, text: /rolled back/ });
  await opened.until(() => pods().filter(({ image }) => image.endsWith("web:1")).length === 4);
  t.match(await act({ action: "undo", workload, revision: 99 }), {
    code: 1,
    text: /unable to find specified revision 99/,
  });
});

t.test("it is scaled, and refused in the server's words", async (t) => {
  t.strictSame(await act({ action: "scale", workload, replicas: 2 }), {
    code: 0,
    text: "cloneset.apps.kruise.io/web scaled\n",
  });
  await until(({ desired, available }) => desired === 2 && available === 2);
  t.equal(numberAt(await api.get(`${clones}/web`), "spec", "replicas"), 2);
});

t.test("containers of one of its pods are restarted, and of no other pod", async (t) => {
  await opened.until(() => pods().length === 2 && pods().every(({ state }) => state === "ready"));
  const [{ name } = { name: "" }] = pods();
  const before = pods().find((pod) => pod.name === name)?.restarts ?? 0;
  const asked = { action: "recreate", workload, containers: ["web"], number: 7 } as const;
  t.match(await act({ ...asked, pod: `default/${name}` }), {
    code: 0,
    text: `containerrecreaterequest.apps.kruise.io/${name}-7 created\n`,
  });
  await opened.until(() => (pods().find((pod) => pod.name === name)?.restarts ?? 0) > before);
  const other = await ask(page, { ...asked, pod: "kube-system/other" });
  t.strictSame([other.status, await other.text()], [404, "the workload has no such pod\n"]);
});

t.test("what does not fit, or is not there, is refused", async (t) => {
  const gone = await ask(page, { action: "pause", workload: "clonesets.apps.kruise.io/default/nothing" });
  t.strictSame([gone.status, await gone.text()], [404, "there is no such workload\n"]);
});

t.test("the user's rights decide, and the server's words are shown", async (t) => {
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  await api.post(`${rbac}/clusterroles`, {
    metadata: { name: "reader" },
    rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["get", "list", "watch"] }],
  });
  await api.post(`${rbac}/clusterrolebindings`, {
    metadata: { name: "reader" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" },
    subjects: [{ kind: "User", name: "jane", apiGroup: "rbac.authorization.k8s.io" }],
  });
  const hers = await startPage(`--kubeconfig ${kubeconfig} --as jane --allow-changes`);
  const list = follow(t, hers, "/events");
  await list.until(() => list.state.has(workload));
  const answer = await ask(hers, { action: "scale", workload, replicas: 9 });
  t.equal(answer.status, 200);
  t.match(JSON.parse(await answer.text()), {
    code: 1,
    text: /^Error from server \(Forbidden\): .*User "jane" cannot patch resource "clonesets\/scale"/,
  });
  t.equal(numberAt(await api.get(`${clones}/web`), "spec", "replicas"), 2);
  t.equal(await hers.stop(), 0);
});

t.test("a recording of a page that acts has no buttons", async (t) => {
  const path = join(t.testdir(), "acting.html");
  const recorded = await startPage(`--kubeconfig ${kubeconfig} --allow-changes --record ${path}`);
  const shown = await fetch(recorded.address, { headers: { cookie: recorded.cookie } });
  t.match(await shown.text(), /<meta name="refit-actions"/);
  t.equal(await recorded.stop(), 0);
  t.notMatch(readFileSync(path, "utf8"), /<meta name="refit-actions"/);
});

t.test("it ends when it is asked to", async (t) => {
  t.equal(await page.stop(), 0);
  t.equal((await stopController()).code, 0);
});
