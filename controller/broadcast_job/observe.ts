/** What a plan of a BroadcastJob sees: plain data, read from the caches. Spec: jobs B2, B4. */
import { type BroadcastJob, type BroadcastJobStatus, parallelismOf } from "../../crds/index.ts";
import type { Node, Pod } from "../../kube/index.ts";

export interface BroadcastJobSeen {
  job: BroadcastJob;
  /** The status that was planned last, or the stored one: what a plan builds on. */
  status: BroadcastJobStatus;
  /** Owned pods; writes in flight are already applied to them. */
  pods: readonly Pod[];
  /** UIDs of pods with a write in flight: no further action is planned for them. */
  busy: ReadonlySet<string>;
  nodes: Iterable<Node>;
  /** Whether the job's pod fits a node; see node_eligibility.ts. */
  fits: (node: Node) => boolean;
}

/** Everything that is not in the object. */
export interface BroadcastJobOptions {
  /** Flag --assign-bcj-pods-by-scheduler: pods are pinned by node affinity, not by node name. */
  assignByScheduler: boolean;
}

export type FailurePolicy = "FailFast" | "Continue" | "Pause";

/** The spec with every default filled in: objects stored before admission ran may lack them. */
export interface Strategy {
  /** New nodes keep the job going. */
  endless: boolean;
  paused: boolean;
  failurePolicy: FailurePolicy;
  /** Restarts of one pod beyond which it counts as failed; undefined where pods are not restarted. */
  restartLimit: number | undefined;
  /** Milliseconds; undefined without a deadline. */
  deadlineMs: number | undefined;
  ttlMs: number | undefined;
  /** Pods that may be active on so many nodes. */
  parallelism(desired: number): number;
}

export function strategyOf({ spec }: BroadcastJob): Strategy {
  const { completionPolicy = {}, failurePolicy = {}, parallelism } = spec;
  const endless = completionPolicy.type === "Never";
  return {
    endless,
    paused: spec.paused ?? false,
    failurePolicy: policyOf(failurePolicy.type),
    restartLimit:
      spec.template.spec.restartPolicy === "OnFailure"
        ? Math.max(0, failurePolicy.restartLimit ?? 0)
        : undefined,
    deadlineMs: endless ? undefined : millisecondsOf(completionPolicy.activeDeadlineSeconds),
    ttlMs: millisecondsOf(completionPolicy.ttlSecondsAfterFinished),
    parallelism: (desired) =>
      parallelism === undefined || parallelism === null
        ? Number.POSITIVE_INFINITY
        : Math.max(0, parallelismOf(parallelism, desired)),
  };
}

/** A type that the API does not know makes nothing of failed pods, as `Continue`. */
function policyOf(type: string | undefined): FailurePolicy {
  if (type === undefined || type === "" || type === "FailFast") return "FailFast";
  return type === "Pause" ? "Pause" : "Continue";
}

function millisecondsOf(seconds: number | undefined | null): number | undefined {
  return seconds === undefined || seconds === null ? undefined : Math.max(0, seconds) * 1000;
}

/**
 * How a pod counts. `over`: alive, but restarted too often; it counts as failed. `going`: it is being deleted and has
 * not succeeded; it counts as nothing.
 */
export type Standing = "succeeded" | "failed" | "over" | "going" | "active";

function standingOf(pod: Pod, restartLimit: number | undefined): Standing {
  if (pod.phase === "Succeeded") return "succeeded";
  // The kubelet reports pods that are stopped for their deletion as failed: no task of theirs has failed.
  if (pod.deletionAt !== undefined) return "going";
  if (pod.phase === "Failed") return "failed";
  return restartLimit !== undefined && restartsOf(pod) > restartLimit ? "over" : "active";
}

function restartsOf(pod: Pod): number {
  let sum = pod.initRestarts ?? 0;
  for (const status of pod.containerStatuses) sum += status.restartCount;
  return sum;
}

/** The node that a pod runs on or is meant for; empty where neither is known. */
export function nodeOf(pod: Pod): string {
  return pod.nodeName || (pod.pinnedTo ?? "");
}

/** A pod whose creation has not been answered yet. */
export function isBeingCreated(pod: Pod): boolean {
  return pod.uid.startsWith("in-flight/");
}

/** The pods of a job on the nodes, sorted by what counts. */
export interface Census {
  /** Nodes that the pod fits, in the order of the cache. */
  fitting: readonly Node[];
  /** The pod that counts on each node. */
  byNode: ReadonlyMap<string, Pod>;
  standing: ReadonlyMap<Pod, Standing>;
  /** Pods whose node is no longer there: they hold up nothing. */
  lost: ReadonlySet<Pod>;
  /** Alive on a node that they do not fit. */
  misplaced: readonly Pod[];
  duplicates: readonly { pod: Pod; node: string }[];
  succeeded: number;
  failed: number;
  /** Stored active pods; those that are being created are not among them. */
  active: readonly Pod[];
  /** Pods that take up parallelism: also those being created. */
  occupying: number;
}

export function censusOf(seen: BroadcastJobSeen, strategy: Strategy): Census {
  const fitting: Node[] = [];
  const unfit = new Set<string>();
  const known = new Set<string>();
  for (const node of seen.nodes) {
    known.add(node.name);
    if (seen.fits(node)) fitting.push(node);
    else unfit.add(node.name);
  }
  const byNode = new Map<string, Pod>();
  const standing = new Map<Pod, Standing>();
  const lost = new Set<Pod>();
  const misplaced: Pod[] = [];
  const duplicates: { pod: Pod; node: string }[] = [];
  const counts = { succeeded: 0, failed: 0, occupying: 0 };
  const active: Pod[] = [];
  for (const pod of seen.pods) {
    const node = nodeOf(pod);
    const stand = standingOf(pod, strategy.restartLimit);
    standing.set(pod, stand);
    const isLost = node !== "" && !known.has(node);
    if (isLost) lost.add(pod);
    if (stand === "succeeded") counts.succeeded++;
    else if (stand === "failed" || stand === "over") counts.failed++;
    else if (stand === "active" && !isLost) {
      counts.occupying++;
      if (!isBeingCreated(pod)) active.push(pod);
    }
    if ((stand === "active" || stand === "over") && unfit.has(node)) misplaced.push(pod);
    if (node !== "") settle(byNode, duplicates, node, pod, standing);
  }
  return { fitting, byNode, standing, lost, misplaced, duplicates, active, ...counts };
}

/** Of two pods on a node one counts: one that stays before one that goes, else the newer one. */
function settle(
  byNode: Map<string, Pod>,
  duplicates: { pod: Pod; node: string }[],
  node: string,
  pod: Pod,
  standing: ReadonlyMap<Pod, Standing>,
): void {
  const other = byNode.get(node);
  if (other === undefined) {
    byNode.set(node, pod);
    return;
  }
  const goes = standing.get(pod) === "going";
  const otherGoes = standing.get(other) === "going";
  if (!goes && !otherGoes) duplicates.push({ pod: isNewer(pod, other) ? pod : other, node });
  if (goes === otherGoes ? isNewer(pod, other) : otherGoes) byNode.set(node, pod);
}

function isNewer(pod: Pod, other: Pod): boolean {
  return pod.createdAt === other.createdAt ? pod.name > other.name : pod.createdAt > other.createdAt;
}
