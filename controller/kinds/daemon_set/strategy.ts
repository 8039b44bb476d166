/** What a DaemonSet asks for, with every default filled in, and what a pod counts as. Spec: daemonset 2, 4.1 to 4.3. */
import type { DaemonSet } from "../../../crds/index.ts";
import { compileSelector, type Selector } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import type { ChangeOptions } from "../../rollout/in_place/change.ts";
import { isLean } from "../../rollout/in_place/lean.ts";
import type { InPlaceOptions } from "../../rollout/in_place/update.ts";
import type { Lifecycle } from "../../rollout/lifecycle/lifecycle.ts";
import { isReady, readySince } from "../../rollout/pods/pod_state.ts";
import { budgetOf, burstOf, partitionOf } from "./numbers.ts";

/** On pods and revisions: the bare hash. */
export const REVISION_LABEL = "controller-revision-hash";
export const GENERATION_LABEL = "pod-template-generation";
const GENERATION_ANNOTATION = "deprecated.daemonset.template.generation";

/** Everything that is not in the object: gates and flags, resolved once. */
export interface DaemonSetOptions extends InPlaceOptions, ChangeOptions {
  /** Pods are pinned by affinity and bound by the scheduler; false: they are created with their node's name. */
  assignByScheduler: boolean;
  /** Gate DaemonSetPruneIneligibleNodes. */
  pruneIneligible: boolean;
  /** Image pull jobs ahead of updates: gate on and the kind served. */
  preDownload: boolean;
}

/** The strategy with every default filled in: objects stored before admission ran may lack them. */
export interface DaemonSetStrategy {
  /** Nodes that should run a pod. */
  desired: number;
  rolling: boolean;
  paused: boolean;
  inPlace: boolean;
  /** A node may have a new pod beside its old one. */
  surges: boolean;
  maxSurge: number;
  maxUnavailable: number;
  partition: number;
  /** Nodes that are updated at all; undefined: every node. */
  nodeSelector: Selector | undefined;
  /** The partition holds creations back as well. */
  partitionedScaling: boolean;
  burst: number;
  minReadySeconds: number;
  lifecycle: Lifecycle | undefined;
  /** Updates in place without the writes of the readiness gate. */
  lean: boolean;
}

/** The part of the strategy by which a pod is classified: it does not depend on how many nodes there are. */
export function availabilityOf({
  spec,
}: DaemonSet): Pick<DaemonSetStrategy, "minReadySeconds" | "nodeSelector"> {
  const update = spec.updateStrategy?.type === "OnDelete" ? {} : (spec.updateStrategy?.rollingUpdate ?? {});
  return {
    minReadySeconds: Math.max(0, spec.minReadySeconds ?? 0),
    nodeSelector: update.selector ? compileSelector(update.selector) : undefined,
  };
}

/** The part of the strategy that says how far and how fast pods are updated. */
export function daemonSetRolloutOf(
  { spec }: DaemonSet,
  desired: number,
): Pick<
  DaemonSetStrategy,
  "desired" | "rolling" | "paused" | "inPlace" | "surges" | "maxSurge" | "maxUnavailable" | "partition"
> {
  const rolling = spec.updateStrategy?.type !== "OnDelete";
  const update = rolling ? (spec.updateStrategy?.rollingUpdate ?? {}) : {};
  const inPlace = rolling && update.rollingUpdateType === "InPlaceIfPossible";
  const maxSurge = inPlace ? 0 : budgetOf(update.maxSurge, desired);
  const maxUnavailable = budgetOf(update.maxUnavailable, desired);
  return {
    desired,
    rolling,
    paused: update.paused ?? false,
    inPlace,
    surges: !inPlace && budgetOf(update.maxSurge, 1) > 0,
    maxSurge,
    maxUnavailable: maxUnavailable === 0 && maxSurge === 0 ? 1 : maxUnavailable,
    partition: partitionOf(update.partition, desired),
  };
}

export function daemonSetStrategyOf(set: DaemonSet, desired: number): DaemonSetStrategy {
  const { spec } = set;
  const rollout = daemonSetRolloutOf(set, desired);
  const { rolling, partition } = rollout;
  const { minReadySeconds, nodeSelector } = availabilityOf(set);
  const { lifecycle } = spec;
  return {
    ...rollout,
    nodeSelector,
    partitionedScaling: rolling && partition > 0 && spec.scaleStrategy?.partitionedScaling === true,
    burst: burstOf(spec.burstReplicas, desired),
    minReadySeconds,
    lifecycle,
    lean: isLean(set.metadata.annotations, { graceSeconds: 0, minReadySeconds, lifecycle }),
  };
}

/** A pod of the set with what every decision asks of it. */
export interface Daemon {
  pod: Pod;
  /** At the update revision. */
  updated: boolean;
  terminating: boolean;
  failed: boolean;
  /** Ready for long enough, with no update of it under way. */
  available: boolean;
  /** Held by the preDelete hook: on its way out. */
  preparing: boolean;
  /** A write is in flight, or the pod is still to be adopted. */
  busy: boolean;
  /** Needs nothing before it is heard of again. */
  idle: boolean;
  /** Its state cannot be read, and that was not reported yet. */
  broken: boolean;
}

export interface UpdateMark {
  /** Value of the revision label. */
  hash: string;
  /** Value of the generation label that counts as updated as well. */
  generation: string | undefined;
}

export function isUpdated(pod: Pod, { hash, generation }: UpdateMark): boolean {
  if (pod.labels[REVISION_LABEL] === hash) return true;
  return generation !== undefined && pod.labels[GENERATION_LABEL] === generation;
}

/** An integer, or undefined: the annotation of sets that were once native. */
export function templateGeneration(set: DaemonSet): string | undefined {
  const text = set.metadata.annotations?.[GENERATION_ANNOTATION];
  return text !== undefined && /^-?\d+$/.test(text) ? text : undefined;
}

/** Pods of one node, the oldest first: those that are on it already, then by age, then by name. */
export function byAge(a: Pod, b: Pod): number {
  return (
    Number(a.nodeName === "") - Number(b.nodeName === "") ||
    a.createdAt - b.createdAt ||
    (a.name < b.name ? -1 : 1)
  );
}

/** Ready since long enough; the gate of in-place updates holds it back. Spec: daemonset 3, numberAvailable. */
export function isDaemonAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  const since = isReady(pod) ? readySince(pod) : undefined;
  return since !== undefined && (minReadySeconds === 0 || availableAt(since, minReadySeconds) <= now);
}

/**
 * When a pod that is Ready since then has been so for long enough; milliseconds since the epoch. Times of conditions
 * are cut to whole seconds: only a second later has it surely been Ready all the time. Spec: daemonset 9, scenario 11.
 */
export function availableAt(since: number, minReadySeconds: number): number {
  return since + (minReadySeconds + 1) * 1000;
}
