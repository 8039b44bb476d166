import t from "tap";
import type { ImagePullJob } from "../../../crds/index.ts";
import { Cache } from "../../../kube/index.ts";
import { ownerKey } from "../../plan/owners.ts";
import { imagePullJobResource } from "../../plan/resources.ts";
import type { Informers } from "../../runtime/informers.ts";
import { ownerReference } from "../pods/pod_manifest.ts";
import { followImagePulls } from "./image_pulls.ts";

function jobIn(namespace: string, name: string, uid: string): ImagePullJob {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ImagePullJob",
    metadata: {
      name,
      namespace,
      uid: `uid-${namespace}-${name}`,
      resourceVersion: "1",
      ownerReferences: [ownerReference("CloneSet", "web", uid)],
    },
    spec: { image: "app:2", completionPolicy: {} },
  };
}

/** Jobs in a cache that no watch fills. `news`: the names of those that there was news of. */
function following() {
  const jobs = new Cache<ImagePullJob>(imagePullJobResource.codec);
  const informers: Informers = {
    // Nothing but the jobs is put into a cache here.
    cacheOf: <T>(resource: { codec: ConstructorParameters<typeof Cache<T>>[0] }) =>
      Object.is(resource, imagePullJobResource)
        ? (jobs as unknown as Cache<T>)
        : new Cache<T>(resource.codec),
  };
  const news: string[] = [];
  const { pullJobs } = followImagePulls(informers, ({ metadata }) => news.push(metadata.name ?? ""));
  return { jobs, pullJobs, taken: () => news.splice(0) };
}

t.test("jobs that pull ahead for a workload are in its namespace", (t) => {
  const { jobs, pullJobs } = following();
  jobs.upsert(jobIn("shop", "web-1", "uid-web"));
  jobs.upsert(jobIn("evil", "web-1", "uid-web"));
  jobs.upsert(jobIn("shop", "other-1", "uid-other"));
  const found = (namespace: string, uid: string) =>
    Array.from(pullJobs(ownerKey(namespace, uid)), (job) => job.uid);
  t.same(found("shop", "uid-web"), ["uid-shop-web-1"]);
  t.same(found("elsewhere", "uid-web"), []);
  t.end();
});

t.test("what a job says of its nodes is news, its other words are not", (t) => {
  const { jobs, taken } = following();
  const job = (resourceVersion: string, succeeded: number, message: string, failed = 0): ImagePullJob => {
    const { metadata, ...rest } = jobIn("shop", "web-1", "uid-web");
    const status = { succeeded, message, desired: 2, active: 0, completed: 0, failed };
    return { ...rest, metadata: { ...metadata, resourceVersion }, status };
  };
  jobs.upsert(job("1", 0, ""));
  t.same(taken(), ["web-1"]);
  jobs.upsert(job("2", 0, "pulling"));
  t.same(taken(), []);
  jobs.upsert(job("3", 1, "pulling"));
  t.same(taken(), ["web-1"]);
  jobs.upsert(job("4", 1, "pulling", 1));
  t.same(taken(), ["web-1"]);
  jobs.remove("shop/web-1", "uid-shop-web-1");
  t.same(taken(), ["web-1"]);
  t.end();
});
