/** What plans read of images that are pulled ahead of a rollout, and where the jobs that pull them are held. */
import type { ImagePullJob, NodeImage } from "../../../crds/index.ts";
import type { KubeObject } from "../../../kube/core/index.ts";
import type { Cache, Change, Resource } from "../../../kube/index.ts";
import { dependantsIn } from "../../plan/owners.ts";
import { imagePullJobResource, nodeImageResource } from "../../plan/resources.ts";
import type { ClusterReader } from "../cluster_reader.ts";
import type { ObservedPullJob } from "./image_wait.ts";

export interface ImagePulls extends Pick<ClusterReader, "pullJobs" | "nodeImage"> {
  /** A job as a write returned it. */
  pullJobWritten(job: KubeObject): void;
}

/** Of a server without such jobs, or where no kind has images pulled ahead. */
export const noImagePulls: ImagePulls = {
  pullJobs: () => [],
  pullJobWritten: () => undefined,
  nodeImage: () => undefined,
};

/** `news`: what a job says of its nodes has changed, for which pods may wait. */
export function followImagePulls(
  informers: { cacheOf<T>(resource: Resource<T>): Cache<T> },
  news: (job: ImagePullJob) => void,
): ImagePulls {
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
    pullJobs: (owner) => Array.from(owned.of(owner), observedPullJob),
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

function observedPullJob(job: ImagePullJob): ObservedPullJob {
  const { name = "", uid = "" } = job.metadata;
  return { name, uid, job };
}

function isPullJob(object: KubeObject): object is ImagePullJob {
  return object.kind === imagePullJobResource.kind && "spec" in object;
}
