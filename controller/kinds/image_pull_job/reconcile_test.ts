import t from "tap";
import type { ImagePullJobSpec } from "../../../crds/index.ts";
import { nullMetrics } from "../../../kube/index.ts";
import { nodeImage, pullJob } from "../../../testkit/controller/image_pull_job_builder.ts";
import { kindDeps } from "../../../testkit/controller/kind_deps_builder.ts";
import { plainNode } from "../../../testkit/controller/projection_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import { imagePullJobResource, nodeImageResource } from "../../plan/resources.ts";
import { SharedInformers } from "../../runtime/informers.ts";
import { Shell } from "../../runtime/shell.ts";
import { ImagePullJobReconciler } from "./reconcile.ts";

const readyAt = (lastTransitionAt: number) => [
  { type: "Ready", status: "True", lastTransitionAt, reason: "", message: "" },
];

t.test("pods of a job that goes during its pass are not watched", async (t) => {
  const server = fakeServer();
  const clock = testClock();
  const deps = kindDeps(imagePullJobResource, server.client, clock);
  const { objects } = deps;
  t.teardown(() => deps.stop());
  const shell = new Shell(deps, new ImagePullJobReconciler(deps));
  const put = (uid: string, resourceVersion: string) =>
    objects.upsert(pullJob({ podSelector: { matchLabels: { app: "web" } } }, { uid, resourceVersion }));
  put("one", "1");
  const pass = shell.reconcile("ns/job");
  objects.remove("ns/job", "one");
  shell.forget("ns/job", "one");
  await pass;
  await clock.settle();
  t.equal(server.openWatches, 0);
  put("other", "2");
  await shell.reconcile("ns/job");
  await clock.settle();
  t.equal(server.openWatches, 1, "those of a job that is there are");
});

t.test(
  "a job before the NodeImages of its nodes waits for them; one that selects no such node is over",
  async (t) => {
    const clock = testClock();
    const deps = kindDeps(imagePullJobResource, fakeServer().client, clock);
    t.teardown(() => deps.stop());
    const reconciler = new ImagePullJobReconciler(deps);
    const readySince = clock.now() - 10_000;
    const conditions = readyAt(readySince);
    deps.caches.nodes.upsert(plainNode("node1", { conditions, labels: { pool: "a" } }));
    deps.caches.nodes.upsert(plainNode("node2", { labels: { pool: "b" } }));
    const pass = (selector: NonNullable<ImagePullJobSpec["selector"]>, name: string) => {
      const job = pullJob({ selector }, { name, uid: name });
      deps.objects.upsert(job);
      return reconciler.reconcile(job, `ns/${name}`);
    };
    t.match(await pass({}, "all"), {
      requeueAfterMs: 30_000,
      status: { message: "job is running, no progress" },
    });
    t.match(await pass({ names: ["node1"] }, "named"), { requeueAfterMs: 30_000 });
    const over = { status: { desired: 0, message: "job has completed" } };
    t.match(await pass({ matchLabels: { pool: "b" } }, "not-ready"), over);
    t.match(await pass({ names: ["node9"] }, "unknown"), over);
  },
);

t.test("a job that selects pods pulls where pods of its namespace run, and nowhere else", async (t) => {
  const server = fakeServer();
  const clock = testClock();
  const plain = kindDeps(imagePullJobResource, server.client, clock);
  t.teardown(() => plain.stop());
  const { client } = server;
  const informers = new SharedInformers({
    ...plain,
    client,
    metrics: nullMetrics,
    namespace: "kruise-system",
  });
  const deps = { ...plain, informers };
  const reconciler = new ImagePullJobReconciler(deps);
  const nodeImages = deps.informers.cacheOf(nodeImageResource);
  for (const [namespace, nodeName] of [
    ["ns", "node1"],
    ["evil", "node2"],
  ] as const) {
    deps.caches.nodes.upsert(plainNode(nodeName, { conditions: readyAt(clock.now() - 60_000) }));
    nodeImages.upsert(nodeImage(nodeName));
    server.put("pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", namespace, uid: namespace, labels: { app: "web" } },
      spec: { nodeName, containers: [] },
      status: { phase: "Running" },
    });
  }
  const job = pullJob({ podSelector: { matchLabels: { app: "web" } } }, { uid: "one" });
  deps.objects.upsert(job);
  await reconciler.reconcile(job, "ns/job");
  await clock.settle();
  t.match(await reconciler.reconcile(job, "ns/job"), { status: { desired: 1 } });
});
