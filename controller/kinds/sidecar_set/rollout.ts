/** What a pod is held against: a SidecarSet in the terms of its rollout, and what a pod has of it. Spec: sidecarset 4, 29 to 32. */
import {
  injectedListAnnotation,
  isNativeSidecar,
  parseInjectedList,
  parseInjectedSidecars,
  parseSidecarsBeforeUpdate,
  parseWorkingContainers,
  type SidecarSet,
  type SidecarsBeforeUpdate,
  sidecarInPlaceStateAnnotation,
  sidecarSetHashAnnotation,
  sidecarSetHashWithoutImageAnnotation,
  workingHotUpgradeAnnotation,
  writtenHashes,
} from "../../../crds/index.ts";
import { compareBytes, compileSelector, type IntOrString, type Selector } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { isConsistent, isSettling } from "../../rollout/in_place/sidecars.ts";
import type { PriorityStrategy, ScatterStrategy } from "../../rollout/order/order.ts";
import { isReady } from "../../rollout/pods/pod_state.ts";
import { isMigrating, pairOf, type Sidecar, workingOf } from "./hot_upgrade.ts";

/** A set with what follows from it for all its pods. */
export interface SidecarRollout {
  readonly name: string;
  readonly hash: string;
  readonly hashWithoutImage: string;
  readonly sidecars: readonly Sidecar[];
  /** Names as pods list them. */
  readonly sidecarList: readonly string[];
  /** The pods that are updated; undefined: all. */
  readonly updateSelector: Selector | undefined;
  /** Everything above as text. */
  readonly text: string;
}

export function rolloutOf({ metadata, spec }: SidecarSet): SidecarRollout {
  const { name = "", annotations } = metadata;
  const { containers = [], initContainers = [], updateStrategy } = spec;
  const { hash, hashWithoutImage } = writtenHashes(annotations, spec);
  const selector = updateStrategy?.selector;
  const sidecars = containers.map((container) => ({
    name: container.name,
    image: container.image ?? "",
    pair: pairOf(container),
  }));
  return {
    name,
    hash,
    hashWithoutImage,
    sidecars,
    sidecarList: [...containers, ...initContainers.filter(isNativeSidecar)]
      .map((container) => container.name)
      .sort(compareBytes),
    updateSelector: selector ? compileSelector(selector) : undefined,
    text: JSON.stringify([hash, hashWithoutImage, sidecars, selector]),
  };
}

/** A pod with the set's sidecars, and what every decision asks of it. */
export interface SidecarSetMember {
  readonly pod: Pod;
  /** A write of it is in flight. */
  readonly busy: boolean;
  /** It has the set's present sidecars. */
  readonly updated: boolean;
  /** It differs in images at most. */
  readonly upgradable: boolean;
  /** The strategy's selector takes it. */
  readonly selected: boolean;
  /** A container of the set is ready and does not run its image yet: an update is under way. */
  readonly settling: boolean;
  /** The pod's containers are those of its spec. */
  readonly consistent: boolean;
  /** Running and Ready, and of no pair both containers are at work. */
  readonly ready: boolean;
  /** As the latest update in place found it; undefined before the first one. */
  readonly before: SidecarsBeforeUpdate | undefined;
  /** The one of each pair that serves, by sidecar. */
  readonly working: ReadonlyMap<string, string>;
}

/** Undefined for a pod that lacks one of the set's containers, or was not injected at all (rule 29). */
export function memberOf(pod: Pod, busy: boolean, rollout: SidecarRollout): SidecarSetMember | undefined {
  const { annotations } = pod;
  const { name, sidecars } = rollout;
  if (!parseInjectedList(annotations[injectedListAnnotation]).includes(name)) return undefined;
  const working = parseWorkingContainers(annotations[workingHotUpgradeAnnotation]) ?? new Map();
  if (!hasContainers(pod, sidecars, working)) return undefined;
  const before = parseSidecarsBeforeUpdate(annotations[sidecarInPlaceStateAnnotation])?.get(name);
  const entry = (annotation: string) => parseInjectedSidecars(annotations[annotation])?.get(name)?.hash;
  return {
    pod,
    busy,
    updated: entry(sidecarSetHashAnnotation) === rollout.hash,
    upgradable: entry(sidecarSetHashWithoutImageAnnotation) === rollout.hashWithoutImage,
    selected: rollout.updateSelector?.matches(pod.labels) ?? true,
    settling: isSettling(pod, containersOf(sidecars), before),
    consistent: isConsistent(pod, containersOf(sidecars), before),
    ready: isReady(pod) && !sidecars.some((sidecar) => isMigrating(pod, sidecar, working)),
    before,
    working,
  };
}

/** The revision that the pod says it has of the set; undefined: it does not say. */
export function revisionOfMember({ annotations }: Pod, set: string): string | undefined {
  return parseInjectedSidecars(annotations[sidecarSetHashAnnotation])?.get(set)?.controllerRevision;
}

export function containersOf(sidecars: readonly Sidecar[]): string[] {
  return sidecars.flatMap(({ name, pair }) => pair?.containers ?? [name]);
}

function hasContainers(
  pod: Pod,
  sidecars: readonly Sidecar[],
  working: ReadonlyMap<string, string>,
): boolean {
  const present = new Set(pod.containers.map(({ name }) => name));
  return sidecars.every((sidecar) => {
    if (sidecar.pair === undefined) return present.has(sidecar.name);
    return (
      workingOf(sidecar, working) !== undefined && sidecar.pair.containers.every((one) => present.has(one))
    );
  });
}

/** The strategy with every default filled in: objects stored before admission ran may lack them. */
export interface SidecarSetStrategy {
  /** Pods keep the sidecars that they have. */
  readonly notUpdated: boolean;
  readonly paused: boolean;
  readonly partition: IntOrString | undefined;
  readonly maxUnavailable: IntOrString;
  readonly priority: PriorityStrategy | undefined;
  readonly scatter: ScatterStrategy | undefined;
}

export function sidecarSetStrategyOf({ spec }: SidecarSet): SidecarSetStrategy {
  const updateStrategy = spec.updateStrategy ?? {};
  return {
    notUpdated: updateStrategy.type === "NotUpdate",
    paused: updateStrategy.paused ?? false,
    partition: updateStrategy.partition,
    maxUnavailable: updateStrategy.maxUnavailable ?? 1,
    priority: updateStrategy.priorityStrategy,
    scatter: updateStrategy.scatterStrategy,
  };
}
