import type { SeenPullJob } from "../../controller/index.ts";
import { type ImagePullJob, imagePullJob, type NodeImage, nodeImage } from "../../crds/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import type { ClusterAccess } from "../command.ts";
import { objectResource } from "../resource_types.ts";
import { everyItem } from "./owned_objects.ts";

/** Image pull jobs that an owner controls; undefined when the kind is not served. */
export async function pullJobsOf(
  access: ClusterAccess,
  uid: string,
  namespace: string,
): Promise<readonly SeenPullJob[] | undefined> {
  const type = await access.types.findKind("apps.kruise.io", "ImagePullJob");
  if (type === undefined) return undefined;
  const jobs = await everyItem(access.client, objectResource(type), { namespace });
  return jobs
    .filter((job) => job.metadata.ownerReferences?.some((owner) => owner.controller && owner.uid === uid))
    .map((job) => ({ name: job.metadata.name ?? "", uid: job.metadata.uid ?? "", ...jobIn(job) }));
}

/** What nodes are to pull, by name; empty while no job of the owner runs. */
export async function nodeImagesFor(
  access: ClusterAccess,
  jobs: readonly SeenPullJob[] | undefined,
): Promise<(node: string) => NodeImage | undefined> {
  const found = new Map<string, NodeImage>();
  const type = jobs?.length ? await access.types.findKind("apps.kruise.io", "NodeImage") : undefined;
  if (type !== undefined) {
    for (const object of await everyItem(access.client, objectResource(type))) {
      const decoded = nodeImage.readStored(versioned(object, "NodeImage"));
      if (!("object" in decoded)) continue;
      const { object: typed } = decoded;
      found.set(typed.metadata.name ?? "", { ...typed, spec: typed.spec ?? {} });
    }
  }
  return (node) => found.get(node);
}

function jobIn(object: KubeObject): { job?: ImagePullJob } {
  const found = imagePullJob.readStored(versioned(object, "ImagePullJob"));
  if (!("object" in found) || found.object.spec === undefined) return {};
  return { job: { ...found.object, spec: found.object.spec } };
}

/** Entries of a list carry no type of their own. */
function versioned(object: KubeObject, kind: string): object {
  return { apiVersion: "apps.kruise.io/v1beta1", kind, ...object };
}
