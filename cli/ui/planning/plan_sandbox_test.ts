/** Plans by a page that only reads, against a cluster: what they say is what happens, and asking for them changes nothing. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { startControlledSandbox } from "../../../testkit/cli/controlled_sandbox.ts";
import { follow, type Page, startPage } from "../../../testkit/cli/live_page.ts";
import { numberAt, textAt } from "../../fields.ts";
import type { PlanAnswer, PlanRefusal, PlanRequest } from "../shared/plans.ts";

const { sandbox, api, stopController } = await startControlledSandbox(t, {
  seed: 8,
  gates: "ImagePullJobGate=false",
});
const kubeconfig = join(t.testdir(), "kubeconfig");
writeFileSync(kubeconfig, sandbox.kubeconfig);

const clones = "/apis/apps.kruise.io/v1beta1/namespaces/default/clonesets";
const workload = "clonesets.apps.kruise.io/default/web";

const cloneSet = (image: string, replicas: number) => ({
  apiVersion: "apps.kruise.io/v1beta1",
  kind: "CloneSet",
  metadata: { name: "web" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    updateStrategy: { rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 1 } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "web", image }] },
    },
  },
});

await api.post(clones, cloneSet("web:1", 3));
const page = await startPage(`--kubeconfig ${kubeconfig}`);
const list = follow(t, page, "/events");

async function plan({ address, cookie }: Page, request: PlanRequest): Promise<PlanAnswer | PlanRefusal> {
  const headers = { cookie, origin: address, "content-type": "application/json" };
  const answer = await fetch(`${address}/plans`, { method: "POST", headers, body: JSON.stringify(request) });
  if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
  return JSON.parse(await answer.text());
}

async function settled(): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const object = await api.get(`${clones}/web`);
    if (numberAt(object, "status", "updatedAvailableReplicas") === 3) return;
    await sleep(50);
  }
  throw new Error("the pods were never available");
}

t.test("a manifest's plan names the pods, and changes nothing", async (t) => {
  await settled();
  await list.until(() => list.state.has(workload));
  t.match(await plan(page, { workload }), { pods: [], steps: [], requests: 0 });
  const before = textAt(await api.get(`${clones}/web`), "metadata", "resourceVersion");
  const updated = await plan(page, { workload, manifest: JSON.stringify(cloneSet("web:2", 3)) });
  t.match(updated, {
    pods: [{ way: "in place", namespace: "default", text: /web web:1 -> web:2/ }],
    steps: [/^create revision web-/],
    reasons: [{ code: "Budget" }],
  });
  const scaled = await plan(page, { workload, manifest: JSON.stringify(cloneSet("web:1", 1)) });
  t.match(scaled, { pods: [{ way: "deleted" }, { way: "deleted" }] });
  const after = textAt(await api.get(`${clones}/web`), "metadata", "resourceVersion");
  t.equal(after, before);
});

t.test("a page without --allow-changes takes no actions", async (t) => {
  const headers = { cookie: page.cookie, origin: page.address, "content-type": "application/json" };
  const body = JSON.stringify({ action: "pause", workload });
  const answer = await fetch(`${page.address}/actions`, { method: "POST", headers, body });
  t.equal(answer.status, 404);
});

t.test("the user's rights decide, and the server's words are shown", async (t) => {
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const rules = [{ apiGroups: ["apps.kruise.io"], resources: ["*"], verbs: ["get", "list", "watch"] }];
  await api.post(`${rbac}/clusterroles`, { metadata: { name: "viewer" }, rules });
  await api.post(`${rbac}/clusterrolebindings`, {
    metadata: { name: "viewer" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "viewer" },
    subjects: [{ kind: "User", name: "jane", apiGroup: "rbac.authorization.k8s.io" }],
  });
  const hers = await startPage(`--kubeconfig ${kubeconfig} --as jane`);
  const seen = follow(t, hers, "/events");
  await seen.until(() => seen.state.has(workload));
  t.match(await plan(hers, { workload }), {
    refusal: /^Error from server \(Forbidden\): .*User "jane" cannot list resource/,
  });
  t.equal(await hers.stop(), 0);
});

t.test("it ends when it is asked to", async (t) => {
  t.equal(await page.stop(), 0);
  t.equal((await stopController()).code, 0);
});
