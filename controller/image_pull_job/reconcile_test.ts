import t from "tap";
import { pullJob } from "../../testkit/controller/image_pull_job_builder.ts";
import { kindDeps } from "../../testkit/controller/kind_deps_builder.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { fakeServer } from "../../testkit/kube/fake_server.ts";
import { shellOf } from "../shell.ts";
import { ImagePullJobReconciler } from "./reconcile.ts";
import { imagePullJobResource } from "./resource.ts";

t.test("pods of a job that goes during its pass are not watched", async (t) => {
  const server = fakeServer();
  const clock = testClock();
  const deps = kindDeps(imagePullJobResource, server.client, clock);
  const { objects } = deps;
  t.teardown(() => deps.stop());
  const shell = shellOf(deps, new ImagePullJobReconciler(deps));
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
