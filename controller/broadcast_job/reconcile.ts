/** The shell of BroadcastJob: what it sees in the caches, its plan behind the shell that workloads share, its nodes. */
import type { BroadcastJob, BroadcastJobStatus } from "../../crds/index.ts";
import type { Change, Node, Pod } from "../../kube/index.ts";
import type { KindDeps, KindShell } from "../kind.ts";
import type { ObjectEvent } from "../rollout/actions.ts";
import { PlannedStatus } from "../rollout/planned_status.ts";
import { workloadShell } from "../rollout/workload_shell.ts";
import { decidesAnew, eligibility } from "./node_eligibility.ts";
import { type BroadcastJobOptions, nodeOf } from "./observe.ts";
import { planBroadcastJob } from "./plan.ts";
import { finalCondition } from "./status.ts";

export function broadcastJobShell(deps: KindDeps<BroadcastJob>): KindShell {
  const options = broadcastJobOptions(deps.options);
  const fits = new Eligibility();
  const statuses = new PlannedStatus<BroadcastJobStatus>();
  const told = new ToldOnce();
  deps.caches.nodes.subscribe((change) => {
    for (const key of wokenBy(change, deps.objects.values(), fits, deps.caches.pods)) deps.queue.add(key);
  });
  return workloadShell(deps, {
    kind: "BroadcastJob",
    plan: (job, { performer, now, random }) => {
      const uid = job.metadata.uid ?? "";
      const { pods, busy } = performer.overlay(uid, [...deps.caches.pods.byIndex("controller", uid)]);
      const plan = planBroadcastJob({
        seen: {
          job,
          status: statuses.before(uid, job.status ?? {}),
          pods,
          busy,
          nodes: deps.caches.nodes.values(),
          fits: fits.of(job),
        },
        options,
        now,
        random,
      });
      statuses.planned(uid, plan.status);
      const news = told.news(uid, plan.standing).map((event) => ({ type: "event", event }) as const);
      return news.length === 0 ? plan : { ...plan, actions: [...plan.actions, ...news] };
    },
    sizeOf: (status) => status?.desired ?? 0,
    forget: (uid) => {
      statuses.forget(uid);
      told.forget(uid);
      fits.forget(uid);
    },
  });
}

/** Which flag decides what: the only place that says so. */
export function broadcastJobOptions(options: {
  assignBroadcastJobPodsByScheduler: boolean;
}): BroadcastJobOptions {
  return { assignByScheduler: options.assignBroadcastJobPodsByScheduler };
}

/** Rule 14: jobs for which a change of a node decides something. A node that goes takes its pod out of the count. */
function* wokenBy(
  change: Change<Node>,
  jobs: Iterable<BroadcastJob>,
  fits: Eligibility,
  pods: { byIndex(index: string, value: string): Iterable<Pod> },
): Iterable<string> {
  if (change.type === "changed" && !decidesAnew(change.before, change.object)) return;
  for (const job of jobs) {
    if (finalCondition(job.status ?? {}) !== undefined) continue;
    const fit = fits.of(job);
    const now = fit(change.object);
    const woken =
      change.type === "changed"
        ? fit(change.before) !== now
        : now || (change.type === "removed" && hasPodOn(job, change.object, pods));
    if (woken) yield `${job.metadata.namespace ?? ""}/${job.metadata.name ?? ""}`;
  }
}

function hasPodOn(
  job: BroadcastJob,
  node: Node,
  pods: { byIndex(index: string, value: string): Iterable<Pod> },
): boolean {
  for (const pod of pods.byIndex("controller", job.metadata.uid ?? "")) {
    if (nodeOf(pod) === node.name) return true;
  }
  return false;
}

/** What fits, remembered for each node as it is: an event of one pod asks no node anew. */
class Eligibility {
  readonly #jobs = new Map<string, { generation: number; fits: (node: Node) => boolean }>();

  of(job: BroadcastJob): (node: Node) => boolean {
    const { uid = "", generation = 0 } = job.metadata;
    const held = this.#jobs.get(uid);
    if (held !== undefined && held.generation === generation) return held.fits;
    const known = new WeakMap<Node, boolean>();
    const isEligible = eligibility(job.spec.template);
    const fits = (node: Node): boolean => {
      let answer = known.get(node);
      if (answer === undefined) {
        answer = isEligible(node);
        known.set(node, answer);
      }
      return answer;
    };
    this.#jobs.set(uid, { generation, fits });
    return fits;
  }

  forget(uid: string): void {
    this.#jobs.delete(uid);
  }
}

/** Warnings about a state that lasts are told when it begins, not in each pass. */
class ToldOnce {
  readonly #told = new Map<string, ReadonlySet<string>>();

  news(uid: string, events: readonly ObjectEvent[]): readonly ObjectEvent[] {
    const before = this.#told.get(uid);
    if (events.length === 0) {
      if (before !== undefined) this.#told.delete(uid);
      return events;
    }
    this.#told.set(uid, new Set(events.map((event) => event.message)));
    return events.filter((event) => !before?.has(event.message));
  }

  forget(uid: string): void {
    this.#told.delete(uid);
  }
}
