/** Image pull jobs and what nodes are to pull, as the server has them. */
import { imagePullJobResource, nodeImageResource, type ObservedPullJob } from "../../controller/index.ts";
import { type ImagePullJob, type NodeImage, nodeImage } from "../../crds/index.ts";
import { type KubeObject, listAll, type Resource } from "../../kube/index.ts";
import type { ClusterAccess } from "../command.ts";

/** Undefined when the kind is not served. */
export function pullJobsIn(access: ClusterAccess, namespace: string): Promise<ImagePullJob[] | undefined> {
  return listServed(access, imagePullJobResource, namespace);
}

/** None while the owner has no job: nothing waits for them then. */
export async function nodeImagesFor(
  access: ClusterAccess,
  jobs: Iterable<ObservedPullJob>,
): Promise<readonly NodeImage[]> {
  for (const _ of jobs) return (await listServed(access, nodeImageResource)) ?? [];
  return [];
}

/** In the version that the server has. */
async function listServed<T>(
  { types, client }: ClusterAccess,
  resource: Resource<T>,
  namespace?: string,
): Promise<T[] | undefined> {
  const type = await types.findKind(resource.group, resource.kind);
  if (type === undefined) return undefined;
  const options = namespace === undefined ? {} : { namespace };
  return listAll(client, { ...resource, version: type.version }, options);
}

/** Undefined for an object whose types are not those of the kind. */
export function nodeImageIn(object: KubeObject): NodeImage | undefined {
  // Entries of a list carry no type of their own.
  const typed = { apiVersion: "apps.kruise.io/v1beta1", kind: "NodeImage", ...object };
  const found = nodeImage.readStored(typed);
  return "object" in found ? { ...found.object, spec: found.object.spec ?? {} } : undefined;
}
