/** Reconciles a BroadcastJob: observes it in the caches, plans, and says which nodes enqueue it and who carries the plan out. */
import type { BroadcastJob, BroadcastJobStatus } from "../../../crds/index.ts";
import type { Change, Node } from "../../../kube/index.ts";
import type { ObjectEvent } from "../../plan/effects.ts";
import { ownerKeyOf } from "../../plan/owners.ts";
import { PodIndexes } from "../../rollout/pods/pod_indexes.ts";
import { PlannedStatus } from "../../rollout/status/planned_status.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler } from "../../runtime/reconciler.ts";
import { WorkloadReconciler } from "../../runtime/workload_reconciler.ts";
import type { TaskIndex } from "./classify.ts";
import { isReclassified } from "./node_eligibility.ts";
import { observeBroadcastJob } from "./observe.ts";
import { planBroadcastJob } from "./plan.ts";
import { broadcastJobState } from "./state.ts";
import { finalCondition } from "./status.ts";
import type { BroadcastJobOptions } from "./strategy.ts";

export function broadcastJobReconciler(deps: KindDeps<BroadcastJob>): Reconciler<BroadcastJob> {
  const options = broadcastJobOptions(deps.options);
  const { pods, nodes } = deps.caches;
  const indexes = new PodIndexes<TaskIndex>(pods);
  const statuses = new PlannedStatus<BroadcastJobStatus>();
  const reported = new ReportedOnce();
  nodes.subscribe((change) => {
    for (const key of enqueuedBy(change, deps.objects.values(), indexes)) deps.queue.add(key);
  });
  return new WorkloadReconciler(deps, {
    plan: (job, { performer, now, random }) => {
      const { uid = "" } = job.metadata;
      const status = statuses.before(uid, job.status ?? {});
      const observed = observeBroadcastJob(job, deps.caches, { writes: performer, indexes, status });
      const plan = planBroadcastJob(broadcastJobState({ observed, options, now, random, explains: false }));
      statuses.planned(uid, plan.status);
      const news = reported.news(uid, plan.warnings).map((event) => ({ type: "event", event }) as const);
      return news.length === 0 ? plan : { ...plan, actions: [...plan.actions, ...news] };
    },
    sizeOf: (status) => status?.desired ?? 0,
    forget: ({ owner, uid }) => {
      statuses.forget(uid);
      reported.forget(uid);
      indexes.forget(owner);
    },
  });
}

/** Which flag decides what: the only place that says so. */
export function broadcastJobOptions(options: {
  assignBroadcastJobPodsByScheduler: boolean;
}): BroadcastJobOptions {
  return { assignByScheduler: options.assignBroadcastJobPodsByScheduler };
}

/**
 * Rule 14: jobs for which a change of a node decides something. A node that goes takes its pod out of the count. A job
 * without an index is still to have its first pass.
 */
function* enqueuedBy(
  change: Change<Node>,
  jobs: Iterable<BroadcastJob>,
  indexes: PodIndexes<TaskIndex>,
): Iterable<string> {
  if (change.type === "changed" && !isReclassified(change.before, change.object)) return;
  const { name } = change.object;
  for (const job of jobs) {
    const index = indexes.get(ownerKeyOf(job.metadata));
    if (index === undefined) continue;
    index.touch(name);
    if (finalCondition(job.status ?? {}) !== undefined) continue;
    const fits = index.fits(change.object);
    const isEnqueued =
      change.type === "changed"
        ? index.fits(change.before) !== fits
        : fits || (change.type === "removed" && index.hasPodOn(name));
    if (isEnqueued) yield `${job.metadata.namespace ?? ""}/${job.metadata.name ?? ""}`;
  }
}

/** Warnings about a state that lasts are reported when it begins, not in each pass. */
class ReportedOnce {
  readonly #reported = new Map<string, ReadonlySet<string>>();

  news(uid: string, events: readonly ObjectEvent[]): readonly ObjectEvent[] {
    const before = this.#reported.get(uid);
    if (events.length === 0) {
      if (before !== undefined) this.#reported.delete(uid);
      return events;
    }
    this.#reported.set(uid, new Set(events.map((event) => event.message)));
    return events.filter((event) => !before?.has(event.message));
  }

  forget(uid: string): void {
    this.#reported.delete(uid);
  }
}
