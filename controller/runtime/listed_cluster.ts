/** A cluster in lists that were read once, for plans that nobody carries out: what owns what is found as in the caches. */
import type { ImagePullJob, NodeImage } from "../../crds/index.ts";
import {
  Cache,
  type ControllerRevision,
  type Namespace,
  type Node,
  namespaceResource,
  type PersistentVolumeClaim,
  type Pod,
} from "../../kube/index.ts";
import { imagePullJobResource, nodeImageResource } from "../plan/resources.ts";
import type { ClusterReader } from "../rollout/cluster_reader.ts";
import { pullsIn } from "../rollout/images/image_pulls.ts";
import { ofAllOwners, sharedCaches } from "./caches.ts";
import type { SharedCaches } from "./kind.ts";

/** What is not listed is taken for absent. */
export interface ClusterLists {
  readonly pods?: readonly Pod[];
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly revisions?: readonly ControllerRevision[];
  readonly nodes?: readonly Node[];
  readonly pullJobs?: readonly ImagePullJob[];
  readonly nodeImages?: readonly NodeImage[];
  readonly namespaces?: readonly Namespace[];
}

export interface ListedCluster extends SharedCaches, Pick<ClusterReader, "pullJobs" | "nodeImage"> {
  readonly namespaces: Cache<Namespace>;
}

/** Pods of other owners are held as well: a name that one of them has is seen to be taken before the server says so. */
export function listedCluster(lists: ClusterLists): ListedCluster {
  const shared = sharedCaches({ ...ofAllOwners, others: [{ keepsPod: () => true }] });
  fill(shared.pods, lists.pods);
  fill(shared.claims, lists.claims);
  fill(shared.revisions, lists.revisions);
  fill(shared.nodes, lists.nodes);
  const pullJobs = fill(new Cache<ImagePullJob>(imagePullJobResource.codec), lists.pullJobs);
  const nodeImages = fill(new Cache<NodeImage>(nodeImageResource.codec), lists.nodeImages);
  const namespaces = fill(new Cache<Namespace>(namespaceResource.codec), lists.namespaces);
  return { ...shared, ...pullsIn(pullJobs, nodeImages), namespaces };
}

/** Each object of a list is there once, and in no order of time: none is older than another. */
function fill<T>(cache: Cache<T>, objects: readonly T[] = []): Cache<T> {
  for (const object of objects) cache.upsert(object);
  return cache;
}
