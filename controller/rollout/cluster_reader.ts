/**
 * What plans read of a cluster, whoever holds it: the shared caches, which follow it, or lists that were read once
 * (runtime/listed_cluster.ts).
 */
import type { NodeImage } from "../../crds/index.ts";
import type { ControllerRevision, Node, PersistentVolumeClaim, Pod, Reader } from "../../kube/index.ts";
import type { Dependants, OwnerKey } from "../plan/owners.ts";
import type { ObservedPullJob } from "./images/image_wait.ts";
import { mostCreations } from "./writes/creation_room.ts";
import { PendingPods } from "./writes/pending_pods.ts";

/** What owners of any kind have. */
export interface OwnedObjects {
  /** Those that the owner controls. */
  readonly pods: Dependants<Pod>;
  /** Those that name it among their owners, as controller or not. */
  readonly claims: Dependants<PersistentVolumeClaim>;
  /** Those that the owner controls. */
  readonly revisions: Dependants<ControllerRevision>;
}

/** What nobody controls. */
export interface OrphanedObjects {
  podsIn(namespace: string): Iterable<Pod>;
  /** Pods with the numbered names of the workload of this key. */
  podsNamedAfter(workload: string): Iterable<Pod>;
  revisionsIn(namespace: string): Iterable<ControllerRevision>;
}

/** Costs are those of the answer, however much there is. */
export interface ClusterReader {
  readonly pods: Pick<Reader<Pod>, "get">;
  readonly claims: Pick<Reader<PersistentVolumeClaim>, "get">;
  readonly revisions: Pick<Reader<ControllerRevision>, "get">;
  readonly nodes: Pick<Reader<Node>, "get" | "values">;
  readonly owned: OwnedObjects;
  readonly orphans: OrphanedObjects;
  /** Image pull jobs that the owner controls. */
  pullJobs(owner: OwnerKey): Iterable<ObservedPullJob>;
  /** What the node of this name is to pull; undefined while images are not pulled ahead. */
  nodeImage(node: string): NodeImage | undefined;
}

/** Writes that are decided and not answered yet, and the last errors. */
export interface WritesInFlight {
  pending(owner: OwnerKey): PendingPods;
  /** By concern; absent once they went well. */
  failures(owner: OwnerKey): { scale?: string; update?: string };
  /** How many pods more may be decided for it. */
  creationRoom(owner: OwnerKey): number;
  /** Whether one of its writes of the claim of this name is under way. */
  isClaimWritten(owner: OwnerKey, name: string): boolean;
}

/** Where indexes are kept from pass to pass. */
interface KeptIndexes<Index> {
  of(owner: OwnerKey, make: () => Index, generation?: number): Index;
}

/** What a controller knows by its own doing, beside what the cluster shows. */
export interface ControllerState<Index> {
  readonly writes: WritesInFlight;
  readonly indexes: KeptIndexes<Index>;
}

/** Of a controller that has just started; plans of the command line are those of one. */
export const justStarted = {
  writes: {
    pending: () => new PendingPods(),
    failures: () => ({}),
    creationRoom: () => mostCreations,
    isClaimWritten: () => false,
  },
  indexes: { of: <Index>(_owner: OwnerKey, make: () => Index): Index => make() },
} as const;
