/** The shell of DaemonSet: what it sees in the caches, who wakes it, and its plan behind the shell that workloads share. */
import type { DaemonSet } from "../../crds/index.ts";
import { compileSelector, type Labels, type Selector } from "../../kube/core/index.ts";
import { type Cache, type ControllerRevision, type Node, type Pod, sidesOf } from "../../kube/index.ts";
import type { Caches, KindDeps, KindShell, ServerFeatures } from "../kind.ts";
import type { ControllerOptions } from "../options.ts";
import { CREATING } from "../rollout/pending_pods.ts";
import type { Performer } from "../rollout/perform.ts";
import { rememberedByNode } from "../rollout/remembered_by_node.ts";
import { byNumber } from "../rollout/revisions.ts";
import { workloadShell } from "../rollout/workload_shell.ts";
import { nodeVerdicts, type Verdict } from "./eligibility.ts";
import { FailedPods } from "./failed_pods.ts";
import type { DaemonSetOptions, Seen } from "./observe.ts";
import { planDaemonSet } from "./plan.ts";
import { Roster } from "./roster.ts";

/** Index of pods without a controller, by namespace. */
const OWNERLESS = "ownerless";

export function daemonSetShell(deps: KindDeps<DaemonSet>): KindShell {
  const options = daemonSetOptions(deps.options, deps.server);
  const { pods, nodes } = deps.caches;
  pods.addIndex(OWNERLESS, (pod) => (pod.controller === undefined ? [pod.namespace] : []));
  const judges = new Judges(() => new FailedPods(() => deps.clock.monotonic()));
  const shell = workloadShell(deps, {
    sizeOf: (status) => status?.desiredNumberScheduled ?? 0,
    forget: (uid) => judges.forget(uid),
    plan: (set, { performer, now, random, settled }) => {
      const judge = judges.of(set);
      judge.failed.observe(set.status?.observedGeneration);
      const seen = observe(set, deps.caches, performer, options, judge);
      const plan = planDaemonSet({ seen, options, now, random, settled });
      for (const node of plan.failedOn) judge.failed.replaced(node);
      return plan;
    },
  });
  const wake = (key: string): void => deps.queue.addAfter(key, shell.coalescingMs(key));
  wakeByNodes(nodes, deps.objects, judges, wake);
  followPods(pods, deps.objects, judges, wake);
  return shell;
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

/** What is worked out of a set's spec once a generation, and kept up from event to event. */
interface Judge {
  generation: number;
  verdict(node: Node): Verdict;
  /** Selects nodes to update; undefined: all. */
  nodeSelector: Selector | undefined;
  pods: Selector;
  failed: FailedPods;
  /** Made by the first pass: from then on it hears of every change. */
  roster: Roster | undefined;
}

class Judges {
  readonly #byUid = new Map<string, Judge>();
  readonly #newFailedPods: () => FailedPods;

  constructor(newFailedPods: () => FailedPods) {
    this.#newFailedPods = newFailedPods;
  }

  of({ metadata, spec }: DaemonSet): Judge {
    const { uid = "", generation = 0 } = metadata;
    const known = this.#byUid.get(uid);
    if (known?.generation === generation) return known;
    const nodeSelector = spec.updateStrategy?.rollingUpdate?.selector ?? undefined;
    const judge: Judge = {
      generation,
      verdict: rememberedByNode(nodeVerdicts(spec.template.spec)),
      nodeSelector: nodeSelector && compileSelector(nodeSelector),
      pods: compileSelector(spec.selector),
      failed: known?.failed ?? this.#newFailedPods(),
      roster: undefined,
    };
    this.#byUid.set(uid, judge);
    return judge;
  }

  /** As `of`; undefined for a set that no plan can work with: its reconcile says why. */
  find(set: DaemonSet): Judge | undefined {
    try {
      return this.of(set);
    } catch {
      return undefined;
    }
  }

  /** The roster of the set of this UID, if it has one yet. */
  rosterOf(uid: string | undefined): Roster | undefined {
    return uid === undefined ? undefined : this.#byUid.get(uid)?.roster;
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}

/** Plain data from the caches. */
export function observe(
  set: DaemonSet,
  caches: Caches,
  performer: Pick<Performer, "pending" | "failures">,
  options: DaemonSetOptions,
  judge: Pick<Judge, "verdict" | "pods" | "failed" | "roster">,
): Seen {
  const uid = set.metadata.uid ?? "";
  const namespace = set.metadata.namespace ?? "";
  judge.roster ??= newRoster(set, caches, performer, judge);
  return {
    set,
    roster: judge.roster,
    isTaken: (name) =>
      caches.pods.get(`${namespace}/${name}`) !== undefined ||
      performer.pending(uid).has(`${CREATING}${name}`),
    revisions: revisionsOf(set, caches, judge.pods),
    revisionData: (name) => caches.revisions.get(`${namespace}/${name}`)?.data,
    failures: performer.failures(uid),
    pullJobs: options.preDownload ? [...caches.pullJobs(uid)] : undefined,
    nodeImage: (node) => caches.nodeImage(node),
    failedPodWaitMs: (node) => judge.failed.waitMs(node),
  };
}

function newRoster(
  { metadata }: DaemonSet,
  { pods, nodes }: Caches,
  performer: Pick<Performer, "pending">,
  judge: Pick<Judge, "verdict" | "pods">,
): Roster {
  const { uid = "", namespace = "" } = metadata;
  return new Roster({
    uid,
    namespace,
    selector: judge.pods,
    verdict: (node) => judge.verdict(node),
    nodes: () => nodes.values(),
    node: (name) => nodes.get(name),
    pods: () => [...pods.byIndex("controller", uid), ...pods.byIndex(OWNERLESS, namespace)],
    inFlight: () => performer.pending(uid),
  });
}

/** Those of this set, and those of nobody that its selector matches. */
function revisionsOf(set: DaemonSet, caches: Caches, selector: Selector): ControllerRevision[] {
  const own = [...caches.revisions.byIndex("controller", set.metadata.uid ?? "")];
  for (const orphan of caches.revisions.byIndex("orphan", set.metadata.namespace ?? "")) {
    if (selector.matches(orphan.labels)) own.push(orphan);
  }
  return own.sort(byNumber);
}

/** A node matters to a set when its verdict or its part in the rollout changes; heartbeats change neither (rule 5). */
function wakeByNodes(
  nodes: Cache<Node>,
  sets: Cache<DaemonSet>,
  judges: Judges,
  wake: (key: string) => void,
): void {
  nodes.subscribe((change) => {
    if (change.type === "changed" && sameForPods(change.before, change.object)) return;
    const { object: node } = change;
    for (const set of sets.values()) {
      const judge = judges.find(set);
      if (judge === undefined) continue;
      const { verdict, nodeSelector } = judge;
      judge.roster?.nodeChanged(node.name);
      const matters =
        change.type === "changed"
          ? verdict(change.before) !== verdict(node) ||
            isSelected(nodeSelector, change.before) !== isSelected(nodeSelector, node)
          : verdict(node) !== "none";
      if (matters) wake(keyOf(set));
    }
  });
}

function isSelected(selector: Selector | undefined, { labels }: Node): boolean {
  return selector?.matches(labels) ?? true;
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

/** Tells rosters of their pods. A pod that nobody controls may be one to adopt: the shell hears of others only. */
function followPods(
  pods: Cache<Pod>,
  sets: Cache<DaemonSet>,
  judges: Judges,
  wake: (key: string) => void,
): void {
  pods.subscribe((change) => {
    const { before, after } = sidesOf(change);
    const loose = [before, after].filter((pod) => pod !== undefined && pod.controller === undefined);
    if (loose.length === 0) {
      const owners = new Set([before?.controller?.uid, after?.controller?.uid]);
      for (const uid of owners) judges.rosterOf(uid)?.podChanged(before, after);
      return;
    }
    for (const set of sets.values()) {
      if (set.metadata.namespace !== change.object.namespace) continue;
      const judge = judges.find(set);
      judge?.roster?.podChanged(before, after);
      if (loose.some((pod) => pod !== undefined && judge?.pods.matches(pod.labels))) wake(keyOf(set));
    }
  });
}

function keyOf({ metadata }: DaemonSet): string {
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}
