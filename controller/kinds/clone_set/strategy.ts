/** What a CloneSet asks for, with every default filled in, and what a pod counts as. Spec: cloneset 4.1, rules 5 to 7. */
import { type CloneSet, excludePreparingDeleteLabel } from "../../../crds/index.ts";
import type { Labels } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { type ChangeOptions, policyOf, type UpdatePolicy } from "../../rollout/in_place/change.ts";
import { isLean } from "../../rollout/in_place/lean.ts";
import type { InPlaceOptions } from "../../rollout/in_place/update.ts";
import type { Lifecycle } from "../../rollout/lifecycle/lifecycle.ts";
import { type LifecycleState, lifecycleState } from "../../rollout/lifecycle/lifecycle.ts";
import type { PriorityStrategy, ScatterStrategy } from "../../rollout/order/order.ts";
import { isAvailable, isReady, SPECIFIED_DELETE } from "../../rollout/pods/pod_state.ts";
import { sameRevision } from "../../rollout/revisions/revisions.ts";
import { type Limits, limitsOf } from "./numbers.ts";

export const INSTANCE_ID = "apps.kruise.io/cloneset-instance-id";
/** On revisions: what the claim templates were. */
export const CLAIM_HASH = "kruise.io/cloneset-volumeclaimtemplate-hash";
export const REVISION_LABEL = "controller-revision-hash";
export const TEMPLATE_HASH = "pod-template-hash";

/** Everything that is not in the object: gates and flags, resolved once. */
export interface CloneSetOptions extends InPlaceOptions, ChangeOptions {
  shortHash: boolean;
  partitionRollback: boolean;
  preparingUpdateAsUpdate: boolean;
  recreateOnClaimChange: boolean;
  excludePreparingDelete: boolean;
  /** Image pull jobs ahead of updates: gate on and the kind served. */
  preDownload: boolean;
}

/**
 * The order of updates is a promise: nobody gets the new image before those that priority or scatter name. With this annotation
 * pods that are out of service anyway do, where there is no room for the next one: maybe only the update heals them.
 */
const HEAL_FIRST_ANNOTATION = "refit.dev/heal-first";

/** The strategy with every default filled in: objects stored before admission ran may lack them. */
export interface CloneSetStrategy {
  limits: Limits;
  policy: UpdatePolicy;
  onDelete: boolean;
  paused: boolean;
  priority: PriorityStrategy | undefined;
  scatter: ScatterStrategy | undefined;
  /** Pods out of service may be updated before their turn. */
  healFirst: boolean;
  graceSeconds: number;
  lean: boolean;
  lifecycle: Lifecycle | undefined;
  minReadySeconds: number;
  reuseClaims: boolean;
  excludePreparingDelete: boolean;
  podsToDelete: ReadonlySet<string>;
}

/** The part of the strategy that follows from the object alone. */
export function cloneSetRolloutOf({
  spec,
}: CloneSet): Pick<CloneSetStrategy, "limits" | "onDelete" | "paused"> {
  const onDelete = spec.updateStrategy?.type === "OnDelete";
  const rolling = onDelete ? undefined : (spec.updateStrategy?.rollingUpdate ?? {});
  const paused = rolling?.paused ?? false;
  const limits = limitsOf({
    replicas: Math.max(0, spec.replicas ?? 1),
    partition: rolling?.partition,
    maxUnavailable: rolling?.maxUnavailable,
    maxSurge: rolling?.maxSurge,
    paused,
    rolling: rolling !== undefined,
    scaleMaxUnavailable: spec.scaleStrategy?.maxUnavailable,
  });
  return { limits, onDelete, paused };
}

export function cloneSetStrategyOf(set: CloneSet, options: CloneSetOptions): CloneSetStrategy {
  const { spec } = set;
  const rollout = cloneSetRolloutOf(set);
  const rolling = rollout.onDelete ? undefined : spec.updateStrategy?.rollingUpdate;
  const graceSeconds = Math.max(0, rolling?.inPlaceUpdateStrategy?.gracePeriodSeconds ?? 0);
  const minReadySeconds = Math.max(0, spec.minReadySeconds ?? 0);
  return {
    ...rollout,
    policy: policyOf(rolling?.podUpdatePolicy),
    priority: rolling?.priorityStrategy,
    scatter: rolling?.scatterStrategy,
    healFirst: set.metadata.annotations?.[HEAL_FIRST_ANNOTATION] === "true",
    graceSeconds,
    lean: isLean(set.metadata.annotations, { graceSeconds, minReadySeconds, lifecycle: spec.lifecycle }),
    lifecycle: spec.lifecycle,
    minReadySeconds,
    reuseClaims: spec.scaleStrategy?.enablePVCReuse ?? false,
    excludePreparingDelete:
      options.excludePreparingDelete ||
      (spec.scaleStrategy?.excludePreparingDelete ?? false) ||
      set.metadata.labels?.[excludePreparingDeleteLabel] === "true",
    podsToDelete: new Set(spec.scaleStrategy?.podsToDelete ?? []),
  };
}

/** An active pod with what every decision asks of it. */
export interface CloneSetMember {
  readonly pod: Pod;
  /** At the update revision. */
  readonly updated: boolean;
  readonly ready: boolean;
  readonly available: boolean;
  readonly state: LifecycleState;
  /** Chosen for deletion by label or by name. */
  readonly specified: boolean;
  readonly busy: boolean;
}

/** `stored`: as the server last showed it; a pod that is being created is as it will be. */
export function memberOf(
  pod: Pod,
  stored: Pod,
  busy: boolean,
  { minReadySeconds, podsToDelete }: Pick<CloneSetStrategy, "minReadySeconds" | "podsToDelete">,
  updateRevision: string,
  now: number,
): CloneSetMember {
  return {
    pod,
    updated: sameRevision(pod.labels[REVISION_LABEL] ?? "", updateRevision),
    ready: isReady(pod),
    available: isAvailable(pod, minReadySeconds, now) && isAvailable(stored, minReadySeconds, now),
    state: lifecycleState(pod),
    specified: SPECIFIED_DELETE in pod.labels || podsToDelete.has(pod.name),
    busy,
  };
}

export function instanceId(object: { labels: Labels }): string {
  return object.labels[INSTANCE_ID] ?? "";
}
