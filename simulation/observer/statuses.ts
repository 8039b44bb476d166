/** What a workload's status says of its pods was true at some time of those in which its controller may have looked at them. */
import type { StoredObject } from "../../sandbox/index.ts";
import { clocksRightSince, isByController, mainImageOf, minReadySeconds, readySince } from "./disruptions.ts";
import { at, conditionIs, controllerOf, isReady, nodeOf, numberAt, stateLabel } from "./fields.ts";
import type { Rule, SeenWrite } from "./rule.ts";
import type { SeenOwner, SeenPod } from "./seen.ts";

/** Whether a pod counts at that time (milliseconds since the epoch). */
type Counts = (pod: StoredObject, time: number) => boolean;

/**
 * How late a controller may be that still leads, in milliseconds. One that was stopped for longer may have sent a status before, without
 * the version that it replaces; when it goes on, that is stored, and set right by the next.
 */
const longestLateMs = 10_000;

interface Bound {
  /** Pods that may count. */
  readonly most: Counts;
  /** Pods that have to. */
  readonly least: Counts;
}

export const statuses: Rule = (write) => {
  const { cluster, seen, namespace, name, staleMs } = write;
  // A controller writes what differs from what it knows: the rest of it may be somebody else's.
  if (write.now - write.madeUpAt <= staleMs) return [];
  const [resource = "", subresource] = write.resource.split("/");
  if (!isByController(write) || subresource !== "status" || staleMs > longestLateMs) return [];
  const object = cluster.objects(resource, namespace).find(({ metadata }) => metadata.name === name);
  const owner = object && seen.owner(object.metadata.uid ?? "");
  if (object === undefined || owner === undefined || owner.isGone) return [];
  const isByNode = owner.kind.replicas(object) === undefined;
  const ready = isByNode ? "numberReady" : "readyReplicas";
  const available = isByNode ? "numberAvailable" : "availableReplicas";
  const updated = isByNode ? "updatedNumberScheduled" : "updatedReplicas";
  return [
    ...untrue(write, owner, object, updated, { most: isUpdated(owner, object), least: () => false }),
    ...untrue(write, owner, object, ready, { most: mayBeReady, least: isReady }),
    ...untrue(write, owner, object, available, availability(write, seen.recent(owner, staleMs))),
  ];
};

/** Asks for the image of the generation that the status names, or of a later one: until its revision exists a generation is not named. */
function isUpdated({ states }: SeenOwner, object: StoredObject): Counts {
  const named = numberAt(object, "status", "observedGeneration");
  const about = states.filter(({ object: { metadata } }) => (metadata.generation ?? 0) >= named);
  const images = about.map((state) => mainImageOf(at(state.object, "spec", "template")));
  return (pod) => images.includes(mainImageOf(pod));
}

/** Ready also while it is on its way out: when its controller counts it no more, its kind says. */
function mayBeReady(pod: StoredObject): boolean {
  return conditionIs(pod, "Ready", "True");
}

/** Spec cloneset, rule 7: not while a hook has it. Of what became ready before clocks were right nobody can tell for how long it has been. */
function availability({ cluster }: SeenWrite, states: readonly StoredObject[]): Bound {
  const rightSince = clocksRightSince(cluster);
  const asked = minReadySeconds(states);
  const [least, most] = [Math.min(...asked) * 1000, Math.max(...asked) * 1000];
  return {
    most: (pod, time) => {
      const since = readySince(pod);
      return mayBeReady(pod) && (since < rightSince || least === 0 || since + least <= time);
    },
    least: (pod, time) => {
      const since = readySince(pod);
      const isSure = most === 0 || (since >= rightSince && since + most <= time);
      return isReady(pod) && ["", "Normal"].includes(pod.metadata.labels?.[stateLabel] ?? "") && isSure;
    },
  };
}

function untrue(
  { cluster: { clock }, now, staleMs }: SeenWrite,
  owner: SeenOwner,
  object: StoredObject,
  field: string,
  { most, least }: Bound,
): string[] {
  const heard = now - staleMs;
  const { uid } = object.metadata;
  const isOf = (pod: StoredObject): boolean => controllerOf(pod)?.uid === uid;
  const all = [...owner.controlled.values()];
  const mayCount = all.filter((pod) =>
    statesSince(pod, heard).some((state) => isOf(state) && most(state, clock.now())),
  );
  const haveTo = all.filter(
    (pod) =>
      pod.bornAt < heard &&
      !pod.isGone &&
      statesSince(pod, heard).every((state) => isOf(state) && least(state, clock.now() - staleMs)),
  );
  const isByNode = owner.kind.replicas(object) === undefined;
  const told = numberAt(object, "status", field);
  const highest = isByNode ? new Set(mayCount.map(({ now }) => nodeOf(now))).size : mayCount.length;
  // Of two pods on a node one counts.
  const lowest = isByNode ? 0 : haveTo.length;
  return told > highest || told < lowest
    ? [`${owner.name}: status.${field} is ${told}, though ${lowest} to ${highest} were so`]
    : [];
}

/** What a pod was at that time (milliseconds of the clock) and later. */
function statesSince({ states, isGone }: SeenPod, time: number): StoredObject[] {
  const untilOf = (index: number, since: number): number =>
    states[index + 1]?.since ?? (isGone ? since : Number.POSITIVE_INFINITY);
  return states.filter(({ since }, index) => untilOf(index, since) >= time).map(({ object }) => object);
}
