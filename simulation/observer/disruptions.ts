/** What a controller takes out of service: within the budget, not while it is paused, and not beyond the partition. */
import type { StoredObject } from "../../sandbox/index.ts";
import {
  conditionIs,
  conditionOf,
  isActive,
  isReady,
  listAt,
  nodeOf,
  numberAt,
  shortOf,
  stateLabel,
  textAt,
} from "./fields.ts";
import type { ObservedCluster } from "./observed.ts";
import type { Rule, SeenWrite } from "./rule.ts";
import type { SeenOwner, SeenPod } from "./seen.ts";
import { hasOrdinal, ordinalOf } from "./workloads.ts";

const specifiedLabel = "apps.kruise.io/specified-delete";
const revisionLabel = "controller-revision-hash";

export const disruptions: Rule = (write) => {
  const { pod, seen, now, verb, resource } = write;
  const owner = pod && seen.owner(pod.owner);
  if (!isByController(write) || pod === undefined || owner === undefined || owner.isGone) return [];
  if (pod.isAside) return [];
  const staleMs = write.staleMs + askedMs(write);
  const states = seen.recent(owner, staleMs);
  // Its node may have told of it by then.
  const isNew = verb === "create" && resource === "pods";
  const wrong = [
    ...beyondPartition(owner, pod, states, isNew, now - staleMs),
    ...tooEarly(owner, pod),
    ...inService(owner, pod),
    ...(isNew ? tooMany(write, owner, states) : []),
    ...(isNew ? beyondSurge(write, owner, pod, states) : []),
  ];
  if (pod.before === undefined || !isServing(pod.before) || (!pod.isGone && isServing(pod.now))) return wrong;
  // It was the controller who did it.
  pod.outSince = Number.NEGATIVE_INFINITY;
  pod.wentAt = Number.NEGATIVE_INFINITY;
  pod.closedAt = write.now;
  if (isUnwanted(pod, states)) return wrong;
  wrong.push(...beyondBudget({ ...write, staleMs }, owner, pod, states));
  const isChosen = isSurplus(owner, pod, states, write.now - staleMs) || isMarked(pod.before, states);
  if (!isChosen && states.every((state) => owner.kind.isPaused(state)))
    wrong.push(`${owner.name} is paused, and ${pod.now.metadata.name} was taken out of service`);
  return wrong;
};

/** A CloneSet deletes what is marked also while it is paused, whoever marked it: with ReCreate its own update did (spec cloneset, rules 35 and 44). */
function isMarked({ metadata }: StoredObject, states: readonly StoredObject[]): boolean {
  return (
    specifiedLabel in (metadata.labels ?? {}) && states.every((state) => textAt(state, "kind") === "CloneSet")
  );
}

/** Ready, and not on its way out. */
function isServing(pod: StoredObject): boolean {
  // Spec cloneset, rules 7 and 57; statefulset, rule 35.
  return isReady(pod) && !isDoomed(pod) && pod.metadata.labels?.[stateLabel] !== "PreparingUpdate";
}

/**
 * Goes once its hook answers, whatever has happened since it was asked (spec cloneset, rule 34; statefulset, rule 33; daemonset,
 * rules 40 to 43): the budget was asked then, too.
 */
function isDoomed({ metadata }: StoredObject): boolean {
  return metadata.labels?.[stateLabel] === "PreparingDelete";
}

export function isByController({ userAgent }: SeenWrite): boolean {
  return userAgent.startsWith("replica-");
}

/** How long the webhook of budgets may keep a deletion: four attempts, about 500 ms apart (spec protection A4, rule 15). */
function askedMs({ cluster, verb, namespace }: SeenWrite): number {
  const isBudgeted =
    verb === "delete" && cluster.objects("podunavailablebudgets.policy.kruise.io", namespace).length > 0;
  return isBudgeted ? 2_250 : 0;
}

/** What a lead had sent before it ended may come within this time after the next one has begun: nothing is promised of that. */
const sentBeforeMs = 5_000;

/** A pod was created beyond the replicas and what an update may make beside them. */
function tooMany(
  { now: today, ledSince }: SeenWrite,
  { kind, name, pods }: SeenOwner,
  states: readonly StoredObject[],
): string[] {
  if (today - ledSince < sentBeforeMs) return [];
  // A StatefulSet's new ordinals do not wait for those that it no longer has.
  if (!states.every((state) => textAt(state, "kind") === "CloneSet")) return [];
  const active = [...pods.values()].filter(({ now, isGone }) => !isGone && isActive(now)).length;
  const most = Math.max(
    ...states.map((state) => {
      const replicas = kind.replicas(state) ?? 0;
      return replicas + kind.maxSurge(state, replicas);
    }),
  );
  return active > most ? [`${name}: there are ${active} pods, ${most} may be`] : [];
}

/**
 * A second pod on the node of one that serves, while it is not available itself: then the other one goes (spec daemonset, rule
 * 33). What replaces a pod that serves nobody does not wait for room.
 */
function beyondSurge(
  { cluster, staleMs }: SeenWrite,
  { kind, name, pods }: SeenOwner,
  pod: SeenPod,
  states: readonly StoredObject[],
): string[] {
  if (!states.every((state) => textAt(state, "kind") === "DaemonSet")) return [];
  const active = [...pods.values()].filter(({ now, isGone }) => !isGone && isActive(now));
  const besides = (each: SeenPod): SeenPod[] =>
    active.filter((other) => other !== each && nodeOf(other.now) === nodeOf(each.now));
  const decidedMs = staleMs * batchesOf(cluster.objects("nodes").length);
  const serves = ({ now }: SeenPod): boolean =>
    isReady(now) && readySince(now) + decidedMs < cluster.clock.now();
  pod.isSurge = besides(pod).some(serves);
  const isAvailable = availability(cluster, states);
  // One that took a node over in an earlier rollout may get a successor beside it: that is one node.
  const surging = nodesOf(
    active.filter((each) => each.isSurge && besides(each).length > 0 && !isAvailable(each.now)),
  ).size;
  const most = Math.max(...states.map((state) => kind.maxSurge(state, cluster.objects("nodes").length)));
  return pod.isSurge && surging > most ? [`${name}: ${surging} nodes have two pods, ${most} may`] : [];
}

/** Brought back into service before it runs what it asks for. */
function tooEarly({ name }: SeenOwner, { born, before, now, isGone, isMeddled }: SeenPod): string[] {
  // What it waited for is what somebody took away (spec inplace-update, rule 15).
  if (isMeddled) return [];
  const isBack =
    before !== undefined &&
    !isGone &&
    conditionIs(before, "InPlaceUpdateReady", "False") &&
    conditionIs(now, "InPlaceUpdateReady", "True");
  if (!isBack) return [];
  const running = new Map(
    listAt(now, "status", "containerStatuses").map((status) => [
      textAt(status, "name"),
      textAt(status, "image"),
    ]),
  );
  // What never ran, and has the image that it was made with, is not waited for (spec inplace-update, rule 15 d).
  if (!running.has("main") && mainImageOf(now) === mainImageOf(born)) return [];
  // A SidecarSet's update does not wait for that of the workload, nor the other way round.
  return listAt(now, "spec", "containers")
    .filter((container) => textAt(container, "name") === "main")
    .filter((container) => running.get(textAt(container, "name")) !== textAt(container, "image"))
    .map((container) => `${name}: ${now.metadata.name} is back before ${textAt(container, "image")} runs`);
}

/** Its image was changed while it was in service. */
function inService({ name }: SeenOwner, { before, now, isGone }: SeenPod): string[] {
  if (before === undefined || isGone || !isReady(before) || !isReady(now)) return [];
  return mainImageOf(before) === mainImageOf(now)
    ? []
    : [`${name}: ${now.metadata.name} got ${mainImageOf(now)} while it was in service`];
}

/** Of a pod or a template. */
export function mainImageOf(pod: unknown): string {
  const containers = listAt(pod, "spec", "containers");
  return textAt(
    containers.find((container) => textAt(container, "name") === "main"),
    "image",
  );
}

/** Of a StatefulSet: it has or had no such ordinal. */
function isUnwanted({ now }: SeenPod, states: readonly StoredObject[]): boolean {
  return states.some(
    (state) => textAt(state, "kind") === "StatefulSet" && !hasOrdinal(state, ordinalOf(now)),
  );
}

/** There are or were more pods than are wanted; of those that went by themselves since `heard` a controller may not know. */
function isSurplus(
  { kind, pods }: SeenOwner,
  pod: SeenPod,
  states: readonly StoredObject[],
  heard: number,
): boolean {
  const stays = ({ now, isGone }: SeenPod): boolean => isActive(now) && !isGone && !isDoomed(now);
  if (stays(pod)) return false;
  const others = [...pods.values()].filter((each) => each !== pod && stays(each));
  const unheard = [...pods.values()].filter((each) => !stays(each) && each.wentAt >= heard).length;
  const isServed = (): boolean => others.some(({ now }) => isServing(now) && nodeOf(now) === nodeOf(pod.now));
  return states.some((state) => {
    const replicas = kind.replicas(state);
    return replicas === undefined ? isServed() : others.length + unheard >= replicas;
  });
}

/**
 * Pods that went out by themselves a moment ago count as in service, also if they are back and not available yet: the controller may
 * not have heard. Of a DaemonSet nodes are
 * counted: one that has two pods while it surges is served by either.
 */
function beyondBudget(
  write: SeenWrite,
  { kind, name, pods }: SeenOwner,
  pod: SeenPod,
  states: readonly StoredObject[],
): string[] {
  const { cluster, now: today, staleMs } = write;
  if (isMaturing(write, pod, states)) return [];
  const heard = today - staleMs;
  const isAvailable = availability(cluster, states);
  const serves = (each: SeenPod): boolean =>
    (!each.isGone || each.isOrphan) && isServing(each.now) && isAvailable(each.now);
  const served = [...pods.values()].filter((each) => serves(each) || each.wentAt >= heard);
  const isByNode = states.every((state) => kind.replicas(state) === undefined);
  const servedNodes = nodesOf(served);
  if (isByNode && servedNodes.has(nodeOf(pod.now))) return [];
  const available = isByNode ? servedNodes.size : served.length;
  // Each node is to have a pod: where one has none, or not yet, that uses up the budget (spec daemonset, rule 27).
  const nodes = cluster.objects("nodes").filter(takesDaemons).length;
  const floors = states.map((state) => {
    const replicas = kind.replicas(state) ?? nodes;
    const outside = isByNode ? Math.min(kind.partition(state, replicas), idleOf(pods, state)) : 0;
    return replicas - kind.maxUnavailable(state, replicas) - outside;
  });
  const floor = Math.min(...floors);
  if (available >= floor) return [];
  return [`${name}: ${available} ${isByNode ? "nodes" : "pods"} are in service, ${floor} have to be`];
}

/** A node that does not answer has no pod of a DaemonSet coming to it, and is not counted (spec daemonset, rules 1 to 3). */
function takesDaemons(node: StoredObject): boolean {
  return !listAt(node, "spec", "taints").some(
    (taint) =>
      textAt(taint, "key") === "node.kubernetes.io/unreachable" && textAt(taint, "effect") === "NoSchedule",
  );
}

/** Pods that are not updated and serve nobody: on nodes that a DaemonSet's partition keeps nobody counts them (spec daemonset, rule 27). */
function idleOf(pods: SeenOwner["pods"], state: StoredObject): number {
  const revision = shortOf(textAt(state, "status", "updateRevision"));
  const [main] = listAt(state, "spec", "template", "spec", "containers");
  // The status may not know of the newest template yet.
  const isOld = (pod: StoredObject): boolean =>
    revisionOf(pod) !== revision || mainImageOf(pod) !== textAt(main, "image");
  return [...pods.values()].filter(
    ({ now, isGone }) => !isGone && isActive(now) && !isReady(now) && !isDoomed(now) && isOld(now),
  ).length;
}

/** Creations go 1, 2, 4, … at a time: what was decided for the last of them is as old as all the answers before. */
function batchesOf(creations: number): number {
  return Math.ceil(Math.log2(creations + 1));
}

/** Ready, but not for long enough as far as a controller can know: it is not available, and may go (spec cloneset, rule 43). */
function isMaturing(
  { cluster, staleMs }: SeenWrite,
  { before = { metadata: {} } }: SeenPod,
  states: readonly StoredObject[],
): boolean {
  const minReady = Math.max(...minReadySeconds(states));
  if (minReady === 0) return false;
  const since = readySince(before);
  return since < clocksRightSince(cluster) || since + minReady * 1000 + staleMs > cluster.clock.now();
}

/** Ready for as long as any of the states asks for; of what became ready before clocks were right nobody can tell for how long. */
function availability(
  cluster: ObservedCluster,
  states: readonly StoredObject[],
): (pod: StoredObject) => boolean {
  const minReady = Math.min(...minReadySeconds(states));
  const rightSince = clocksRightSince(cluster);
  return (pod) => {
    const since = readySince(pod);
    return isReady(pod) && (since < rightSince || since + minReady * 1000 <= cluster.clock.now());
  };
}

export function minReadySeconds(states: readonly StoredObject[]): number[] {
  return states.map((state) => numberAt(state, "spec", "minReadySeconds"));
}

/** Milliseconds since the epoch. */
export function readySince(pod: StoredObject): number {
  return conditionOf(pod, "Ready")?.since ?? 0;
}

/** Milliseconds since the epoch; infinite while one is wrong. */
export function clocksRightSince({ clock, replicas, diedWrongAt }: ObservedCluster): number {
  const areRight = replicas.every((replica) => replica.clock.now() === clock.now());
  return areRight
    ? Math.max(diedWrongAt, ...replicas.map((replica) => replica.clock.setAt))
    : Number.POSITIVE_INFINITY;
}

function nodesOf(pods: readonly SeenPod[]): ReadonlySet<string> {
  return new Set(pods.map(({ now }) => nodeOf(now)));
}

/**
 * Pods of the newest revision that the partition does not allow. Of a DaemonSet one that went comes back as the newest (spec daemonset,
 * rule 31), also while the update of another one is under way: one born since `heard` does not count.
 */
function beyondPartition(
  { kind, name, pods }: SeenOwner,
  pod: SeenPod,
  states: readonly StoredObject[],
  isNew: boolean,
  heard: number,
): string[] {
  const newest = states.at(-1);
  const revision = shortOf(textAt(newest, "status", "updateRevision"));
  const current = shortOf(textAt(newest, "status", "currentRevision"));
  if (newest === undefined || pod.isGone || revision === "" || revision === current) return [];
  if (numberAt(newest, "status", "observedGeneration") !== newest.metadata.generation) return [];
  const isNewest = ({ now }: SeenPod): boolean => revisionOf(now) === revision;
  // What a node has no pod of yet gets the newest.
  if (isNew && kind.replicas(newest) === undefined) return [];
  const wasNewest = pod.before !== undefined && revisionOf(pod.before) === revision;
  if (!isNewest(pod) || (wasNewest && !isNew)) return [];
  const there = [...pods.values()].filter(({ now, isGone }) => !isGone && isActive(now));
  // Each stands for the node that it has left.
  const unheard = [...pods.values()].filter((each) => !there.includes(each) && each.wentAt >= heard).length;
  const counts = ({ bornAt }: SeenPod): boolean => kind.replicas(newest) !== undefined || bornAt < heard;
  const updated = there.filter((each) => isNewest(each) && counts(each)).length;
  const most = Math.max(
    ...states.map((state) => {
      const replicas = kind.replicas(state) ?? there.length + unheard;
      return Math.max(replicas, there.length) - kind.partition(state, replicas);
    }),
  );
  if (updated <= most || isInNewPart(pod, states, kind)) return [];
  return [`${name}: ${updated} pods are at the newest revision, the partition allows ${most}`];
}

/** Of a StatefulSet: as many ordinals lie below it as its partition keeps, whatever others had become before ordinals were reserved. */
function isInNewPart({ now }: SeenPod, states: readonly StoredObject[], kind: SeenOwner["kind"]): boolean {
  return states.some((state) => {
    if (textAt(state, "kind") !== "StatefulSet") return false;
    const below = Array.from({ length: ordinalOf(now) }, (_, ordinal) => ordinal).filter((ordinal) =>
      hasOrdinal(state, ordinal),
    );
    return below.length >= kind.partition(state, kind.replicas(state) ?? 0);
  });
}

function revisionOf({ metadata }: StoredObject): string {
  return shortOf(metadata.labels?.[revisionLabel] ?? "");
}
