/** What plans see of images that are downloaded before a rollout, and the jobs that they make for it. */
import type { ImagePullJob, NodeImage } from "../../crds/index.ts";
import type { KubeObject } from "../../kube/core/index.ts";
import type { Cache, Change } from "../../kube/index.ts";
import { dependantsIn } from "../plan/owners.ts";
import { imagePullJobResource, nodeImageResource } from "../plan/resources.ts";
import type { ClusterReader } from "../rollout/cluster_reader.ts";
import type { ObservedPullJob } from "../rollout/images/image_wait.ts";
import type { FeatureGates } from "./feature_gates.ts";
import type { Informers } from "./informers.ts";
import type { Caches, ServerFeatures } from "./kind.ts";

type Predownload = Pick<Caches, "pullJobs" | "pullJobWritten" | "nodeImage">;

/** Jobs and node images are followed only where a gate lets a kind pull ahead and the server has the jobs. */
export function predownload(
  informers: Informers,
  { imagePullJobs }: ServerFeatures,
  { PreDownloadImageForInPlaceUpdate, PreDownloadImageForDaemonSetUpdate }: FeatureGates,
  news: (job: ImagePullJob) => void,
): Predownload {
  if (!imagePullJobs || !(PreDownloadImageForInPlaceUpdate || PreDownloadImageForDaemonSetUpdate)) {
    return { pullJobs: () => [], pullJobWritten: () => undefined, nodeImage: () => undefined };
  }
  const jobs = informers.cacheOf(imagePullJobResource);
  const nodeImages = informers.cacheOf(nodeImageResource);
  jobs.subscribe((change) => {
    if (isNews(change)) news(change.object);
  });
  return {
    ...pullsIn(jobs, nodeImages),
    pullJobWritten: (job) => isPullJob(job) && jobs.writeBack(job),
  };
}

/** What plans read of pull jobs and of what nodes are to pull. */
export function pullsIn(
  jobs: Cache<ImagePullJob>,
  nodeImages: Pick<Cache<NodeImage>, "get">,
): Pick<ClusterReader, "pullJobs" | "nodeImage"> {
  const owned = dependantsIn(
    jobs,
    "controller",
    ({ metadata: { namespace = "", ownerReferences = [] } }) => ({
      namespace,
      owners: ownerReferences.flatMap(({ controller, uid }) => (controller ? [uid] : [])),
    }),
  );
  return {
    pullJobs: (owner) => Array.from(owned.of(owner), seenPullJob),
    nodeImage: (node) => nodeImages.get(node),
  };
}

/** Pods may wait for an image: only what a job says of its nodes lets them go. */
function isNews(change: Change<ImagePullJob>): boolean {
  if (change.type !== "changed") return true;
  const [before, after] = [change.before.status, change.object.status];
  return (
    before?.succeeded !== after?.succeeded ||
    before?.failed !== after?.failed ||
    before?.completionTime !== after?.completionTime
  );
}

function seenPullJob(job: ImagePullJob): ObservedPullJob {
  const { name = "", uid = "" } = job.metadata;
  return { name, uid, job };
}

function isPullJob(object: KubeObject): object is ImagePullJob {
  return object.kind === imagePullJobResource.kind && "spec" in object;
}
