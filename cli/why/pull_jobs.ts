import type { ClusterAccess } from "../command.ts";
import { objectResource } from "../resource_types.ts";
import { everyItem } from "./possessions.ts";

/** Image pull jobs that an owner controls; undefined when the kind is not served. */
export async function pullJobsOf(
  access: ClusterAccess,
  uid: string,
  namespace: string,
): Promise<readonly { name: string; uid: string }[] | undefined> {
  const type = await access.types.findKind("apps.kruise.io", "ImagePullJob");
  if (type === undefined) return undefined;
  const jobs = await everyItem(access.client, objectResource(type), namespace);
  return jobs
    .filter((job) => job.metadata.ownerReferences?.some((owner) => owner.controller && owner.uid === uid))
    .map((job) => ({ name: job.metadata.name ?? "", uid: job.metadata.uid ?? "" }));
}
