import type { ObservedPullJob } from "../../controller/index.ts";
import { type ImagePullJob, imagePullJob, type NodeImage, nodeImage } from "../../crds/index.ts";
import { type KubeObject, listAll } from "../../kube/index.ts";
import type { ClusterAccess } from "../command.ts";
import { objectResource } from "../resource_types.ts";

/** Image pull jobs that an owner controls; undefined when the kind is not served. */
export async function pullJobsOf(
  access: ClusterAccess,
  uid: string,
  namespace: string,
): Promise<readonly ObservedPullJob[] | undefined> {
  const type = await access.types.findKind("apps.kruise.io", "ImagePullJob");
  if (type === undefined) return undefined;
  const jobs = await listAll(access.client, objectResource(type), { namespace });
  return jobs
    .filter((job) => job.metadata.ownerReferences?.some((owner) => owner.controller && owner.uid === uid))
    .map((job) => ({ name: job.metadata.name ?? "", uid: job.metadata.uid ?? "", ...jobIn(job) }));
}

/** What nodes are to pull, by name; empty while no job of the owner runs. */
export async function nodeImagesFor(
  access: ClusterAccess,
  jobs: readonly ObservedPullJob[] | undefined,
): Promise<(node: string) => NodeImage | undefined> {
  const found = new Map<string, NodeImage>();
  const type = jobs?.length ? await access.types.findKind("apps.kruise.io", "NodeImage") : undefined;
  if (type !== undefined) {
    for (const object of await listAll(access.client, objectResource(type))) {
      const typed = nodeImageIn(object);
      if (typed !== undefined) found.set(typed.metadata.name ?? "", typed);
    }
  }
  return (node) => found.get(node);
}

/** Undefined for an object whose types are not those of the kind. */
export function nodeImageIn(object: KubeObject): NodeImage | undefined {
  const found = nodeImage.readStored(versioned(object, "NodeImage"));
  return "object" in found ? { ...found.object, spec: found.object.spec ?? {} } : undefined;
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
