/** The shell of BroadcastJob: what it sees in the caches, its plan behind the shell that workloads share, its nodes. */
import type { BroadcastJob, BroadcastJobStatus } from "../../crds/index.ts";
import { type Change, type Node, type Pod, sidesOf } from "../../kube/index.ts";
import type { Caches, KindDeps, KindShell } from "../kind.ts";
import type { ObjectEvent } from "../rollout/actions.ts";
import { CREATING } from "../rollout/pending_pods.ts";
import type { Performer } from "../rollout/perform.ts";
import { PlannedStatus } from "../rollout/planned_status.ts";
import { rememberedByNode } from "../rollout/remembered_by_node.ts";
import { workloadShell } from "../rollout/workload_shell.ts";
import { decidesAnew, eligibility } from "./node_eligibility.ts";
import { type BroadcastJobOptions, strategyOf } from "./observe.ts";
import { planBroadcastJob } from "./plan.ts";
import { Roster } from "./roster.ts";
import { finalCondition } from "./status.ts";

export function broadcastJobShell(deps: KindDeps<BroadcastJob>): KindShell {
  const options = broadcastJobOptions(deps.options);
  const { pods, nodes } = deps.caches;
  const judges = new Judges();
  const statuses = new PlannedStatus<BroadcastJobStatus>();
  const told = new ToldOnce();
  nodes.subscribe((change) => {
    for (const key of wokenBy(change, deps.objects.values(), judges)) deps.queue.add(key);
  });
  pods.subscribe((change) => judges.podChanged(change));
  return workloadShell(deps, {
    plan: (job, { performer, now, random }) => {
      const uid = job.metadata.uid ?? "";
      const namespace = job.metadata.namespace ?? "";
      const judge = judges.of(job);
      judge.roster ??= newRoster(job, judge, deps.caches, performer);
      const plan = planBroadcastJob({
        seen: {
          job,
          status: statuses.before(uid, job.status ?? {}),
          roster: judge.roster,
          isTaken: (name) =>
            pods.get(`${namespace}/${name}`) !== undefined ||
            performer.pending(uid).has(`${CREATING}${name}`),
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
      judges.forget(uid);
    },
  });
}

/** Which flag decides what: the only place that says so. */
export function broadcastJobOptions(options: {
  assignBroadcastJobPodsByScheduler: boolean;
}): BroadcastJobOptions {
  return { assignByScheduler: options.assignBroadcastJobPodsByScheduler };
}

function newRoster(
  job: BroadcastJob,
  { fits }: Pick<Judge, "fits">,
  { pods, nodes }: Pick<Caches, "pods" | "nodes">,
  performer: Pick<Performer, "pending">,
): Roster {
  const { uid = "" } = job.metadata;
  return new Roster({
    uid,
    restartLimit: strategyOf(job).restartLimit,
    fits,
    nodes: () => nodes.values(),
    node: (name) => nodes.get(name),
    pods: () => pods.byIndex("controller", uid),
    inFlight: () => performer.pending(uid),
  });
}

/** Rule 14: jobs for which a change of a node decides something. A node that goes takes its pod out of the count. */
function* wokenBy(change: Change<Node>, jobs: Iterable<BroadcastJob>, judges: Judges): Iterable<string> {
  if (change.type === "changed" && !decidesAnew(change.before, change.object)) return;
  for (const job of jobs) {
    const { fits, roster } = judges.of(job);
    roster?.nodeChanged(change.object.name);
    if (finalCondition(job.status ?? {}) !== undefined) continue;
    const now = fits(change.object);
    const woken =
      change.type === "changed"
        ? fits(change.before) !== now
        : now || (change.type === "removed" && (roster?.hasPodOn(change.object.name) ?? false));
    if (woken) yield `${job.metadata.namespace ?? ""}/${job.metadata.name ?? ""}`;
  }
}

/** What is worked out of a job's spec once a generation, and kept up from event to event. */
interface Judge {
  generation: number;
  fits(node: Node): boolean;
  /** Made by the first pass: from then on it hears of every change. */
  roster: Roster | undefined;
}

class Judges {
  readonly #byUid = new Map<string, Judge>();

  of(job: BroadcastJob): Judge {
    const { uid = "", generation = 0 } = job.metadata;
    const held = this.#byUid.get(uid);
    if (held?.generation === generation) return held;
    const fits = rememberedByNode(eligibility(job.spec.template));
    const judge: Judge = { generation, fits, roster: undefined };
    this.#byUid.set(uid, judge);
    return judge;
  }

  podChanged(change: Change<Pod>): void {
    const { before, after } = sidesOf(change);
    for (const uid of new Set([before?.controller?.uid, after?.controller?.uid])) {
      if (uid !== undefined) this.#byUid.get(uid)?.roster?.podChanged(before, after);
    }
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
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
