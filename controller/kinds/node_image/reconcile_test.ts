import t from "tap";
import { formatTime } from "../../../kube/core/index.ts";
import { nullMetrics } from "../../../kube/index.ts";
import { answered, nodeImage, pullJob, written } from "../../../testkit/controller/image_pull_job_builder.ts";
import { kindDeps } from "../../../testkit/controller/kind_deps_builder.ts";
import { plainNode } from "../../../testkit/controller/projection_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import { imagePullJobResource, nodeImageResource } from "../../plan/resources.ts";
import { pullTarget, withTask } from "../../rollout/images/pull_task.ts";
import { SharedInformers } from "../../runtime/informers.ts";
import { NodeImageReconciler } from "./reconcile.ts";

t.test("a result that was kept for its job is looked at when the job has ended, and goes", async (t) => {
  const server = fakeServer();
  const clock = testClock();
  const plain = kindDeps(nodeImageResource, server.client, clock);
  t.teardown(() => plain.stop());
  const parts = { ...plain, client: server.client, metrics: nullMetrics, namespace: "kruise-system" };
  const deps = { ...plain, informers: new SharedInformers(parts) };
  const reconciler = new NodeImageReconciler(deps);
  const jobs = deps.informers.cacheOf(imagePullJobResource);
  const now = clock.now();
  deps.caches.nodes.upsert(plainNode("n", { labels: {} }));
  const job = pullJob({}, { resourceVersion: "1" }, { startTime: formatTime(now), desired: 2 });
  jobs.upsert(job);
  const task = { ttlSeconds: 300, chance: 0, now };
  const empty = nodeImage("n", { metadata: { labels: {} } });
  const told = written(empty, { spec: withTask(empty, job, pullTarget(job, []), task) });
  const done = answered(told, "Succeeded", now);
  deps.objects.upsert(done);
  while (deps.queue.depth > 0) deps.queue.done((await deps.queue.next()) ?? "");
  await clock.advance(3_600_000);
  t.same(await reconciler.reconcile(done, "n"), { effects: [], requeueAfterMs: undefined });
  const completionTime = formatTime(clock.now());
  const metadata = { ...job.metadata, resourceVersion: "2" };
  jobs.upsert({ ...job, metadata, status: { ...job.status, desired: 2, completionTime } });
  t.equal(await deps.queue.next(), "n");
  t.match(await reconciler.reconcile(done, "n"), {
    effects: [{ type: "patch object", body: { spec: { images: { nginx: null } } } }],
  });
});
