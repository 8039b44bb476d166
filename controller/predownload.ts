/** What plans see of images that are downloaded before a rollout. */
import type { ImagePullJob } from "../crds/index.ts";
import type { KubeObject } from "../kube/core/index.ts";
import type { Change, Reader } from "../kube/index.ts";
import type { FeatureGates } from "./feature_gates.ts";
import { imagePullJobResource } from "./image_pull_job/resource.ts";
import type { Informers } from "./informers.ts";
import type { Caches, ServerFeatures } from "./kind.ts";
import { nodeImageResource } from "./node_image/resource.ts";
import type { SeenPullJob } from "./rollout/images/image_wait.ts";

type Predownload = Pick<Caches, "pullJobs" | "pullJobWritten" | "nodeImage">;

/** Jobs and node images are followed only where a gate lets a kind pull ahead and the server has the jobs. */
export function predownload(
  informers: Informers,
  { imagePullJobs }: ServerFeatures,
  { PreDownloadImageForInPlaceUpdate, PreDownloadImageForDaemonSetUpdate }: FeatureGates,
  changed: (change: Change<ImagePullJob>) => void,
): Predownload {
  if (!imagePullJobs || !(PreDownloadImageForInPlaceUpdate || PreDownloadImageForDaemonSetUpdate)) {
    return { pullJobs: () => [], pullJobWritten: () => undefined, nodeImage: () => undefined };
  }
  const jobs = informers.cacheOf(imagePullJobResource, { controller: controllerUids });
  const nodeImages = informers.cacheOf(nodeImageResource);
  jobs.subscribe(changed);
  return {
    pullJobs: (uid) => controlledBy(jobs, uid),
    pullJobWritten: (job) => isPullJob(job) && jobs.writeBack(job),
    nodeImage: (node) => nodeImages.get(node),
  };
}

function controllerUids(object: KubeObject): string[] {
  return (object.metadata.ownerReferences ?? [])
    .filter((owner) => owner.controller)
    .map((owner) => owner.uid);
}

function* controlledBy(jobs: Reader<ImagePullJob>, ownerUid: string): Iterable<SeenPullJob> {
  for (const job of jobs.byIndex("controller", ownerUid)) {
    yield { name: job.metadata.name ?? "", uid: job.metadata.uid ?? "", job };
  }
}

function isPullJob(object: KubeObject): object is ImagePullJob {
  return object.kind === imagePullJobResource.kind && "spec" in object;
}
