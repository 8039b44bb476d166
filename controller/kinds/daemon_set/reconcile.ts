/** Reconciles a DaemonSet: observes it in the caches, plans, and says which changes enqueue it and who carries the plan out. */
import type { DaemonSet } from "../../../crds/index.ts";
import type { Labels } from "../../../kube/core/index.ts";
import { type Change, type Node, type Pod, sidesOf } from "../../../kube/index.ts";
import { ownerKeyOf } from "../../plan/owners.ts";
import { PodIndexes } from "../../rollout/pods/pod_indexes.ts";
import type { KindDeps, ServerFeatures } from "../../runtime/kind.ts";
import type { ControllerOptions } from "../../runtime/options.ts";
import type { Reconciler } from "../../runtime/reconciler.ts";
import { WorkloadReconciler } from "../../runtime/workload_reconciler.ts";
import type { DaemonIndex } from "./classify.ts";
import { FailedPods } from "./failed_pods.ts";
import { observeDaemonSet } from "./observe.ts";
import { planDaemonSet } from "./plan.ts";
import { daemonSetState } from "./state.ts";
import type { DaemonSetOptions } from "./strategy.ts";

export function daemonSetReconciler(deps: KindDeps<DaemonSet>): Reconciler<DaemonSet> {
  const options = daemonSetOptions(deps.options, deps.server);
  const { pods, nodes } = deps.caches;
  /** Sets to which a pod without a controller may come. */
  const adopters = (pod: Pod): DaemonSet[] =>
    [...deps.objects.values()].filter(({ metadata }) => {
      if (metadata.namespace !== pod.namespace) return false;
      return indexes.get(ownerKeyOf(metadata))?.source.selector.matches(pod.labels);
    });
  const indexes = new PodIndexes<DaemonIndex>(pods, (pod) =>
    adopters(pod).map(({ metadata }) => ownerKeyOf(metadata)),
  );
  const failed = new Map<string, FailedPods>();
  const reconciler = new WorkloadReconciler(deps, {
    sizeOf: (status) => status?.desiredNumberScheduled ?? 0,
    forget: ({ owner, uid }) => {
      indexes.forget(owner);
      failed.delete(uid);
    },
    plan: (set, { performer, now, random, memory }) => {
      const { uid = "" } = set.metadata;
      const failedPods = failed.get(uid) ?? new FailedPods(() => deps.clock.monotonic());
      failed.set(uid, failedPods);
      failedPods.observe(set.status?.observedGeneration);
      const state = { writes: performer, indexes, failed: failedPods };
      const observed = observeDaemonSet(set, deps.caches, options, state);
      const plan = planDaemonSet(daemonSetState({ observed, options, now, random, memory, explains: false }));
      for (const node of plan.failedOn) failedPods.replaced(node);
      return plan;
    },
  });
  const enqueue = (set: DaemonSet): void => {
    const key = `${set.metadata.namespace ?? ""}/${set.metadata.name ?? ""}`;
    deps.queue.addAfter(key, reconciler.coalescingMs(key));
  };
  nodes.subscribe((change) => {
    for (const set of enqueuedByNode(change, deps.objects.values(), indexes)) enqueue(set);
  });
  // A pod that nobody controls may be one to adopt: those of others alone enqueue their owner.
  pods.subscribe((change) => {
    const { before, after } = sidesOf(change);
    for (const pod of [before, after])
      if (pod !== undefined && pod.controller === undefined) for (const set of adopters(pod)) enqueue(set);
  });
  return reconciler;
}

/** Which gate, flag and ability of the server decides what: the only place that says so. */
export function daemonSetOptions(
  {
    gates,
    assignPodsByScheduler,
    keepManagedFields,
  }: Pick<ControllerOptions, "gates" | "assignPodsByScheduler" | "keepManagedFields">,
  server: ServerFeatures,
): DaemonSetOptions {
  return {
    envFromMetadata: gates.InPlaceUpdateEnvFromMetadata,
    verticalScaling: gates.InPlaceWorkloadVerticalScaling,
    resizeSubresource: server.resizeSubresource,
    resetsManagers: !keepManagedFields,
    assignByScheduler: assignPodsByScheduler,
    pruneIneligible: gates.DaemonSetPruneIneligibleNodes,
    preDownload: gates.PreDownloadImageForDaemonSetUpdate && server.imagePullJobs,
  };
}

/**
 * A node matters to a set when its eligibility or its part in the rollout changes; heartbeats change neither (rule 5). A
 * set without an index is still to have its first pass.
 */
function* enqueuedByNode(
  change: Change<Node>,
  sets: Iterable<DaemonSet>,
  indexes: PodIndexes<DaemonIndex>,
): Iterable<DaemonSet> {
  if (change.type === "changed" && sameForPods(change.before, change.object)) return;
  const { object: node } = change;
  for (const set of sets) {
    const index = indexes.get(ownerKeyOf(set.metadata));
    if (index === undefined) continue;
    index.touch(node.name);
    const { eligibility, nodeSelector } = index.source;
    const isSelected = ({ labels }: Node): boolean => nodeSelector?.matches(labels) ?? true;
    const matters =
      change.type === "changed"
        ? eligibility(change.before) !== eligibility(node) || isSelected(change.before) !== isSelected(node)
        : eligibility(node) !== "none";
    if (matters) yield set;
  }
}

/** Cheap, because every heartbeat of every node asks it. */
function sameForPods(before: Node, after: Node): boolean {
  if (!sameLabels(before.labels, after.labels) || before.taints.length !== after.taints.length) return false;
  return before.taints.every((taint, index) => {
    const other = after.taints[index];
    return other?.key === taint.key && other.value === taint.value && other.effect === taint.effect;
  });
}

function sameLabels(before: Labels, after: Labels): boolean {
  const keys = Object.keys(before);
  return keys.length === Object.keys(after).length && keys.every((key) => before[key] === after[key]);
}
