/** Writes to pods as data: strategic merge patches with their preconditions, and how the pod looks after them. */
import { type OwnerReference, own } from "../../../kube/core/index.ts";
import type { Pod, PodCondition, PodContainer, ResourceAmounts } from "../../../kube/index.ts";
import { timestamp } from "../lifecycle/lifecycle.ts";

export interface ConditionChange {
  type: string;
  status: "True" | "False";
  reason?: string;
  message?: string;
}

/** What a plan wants to be different about one pod. Absent members stay as they are; null removes. */
export interface PodChange {
  labels?: Record<string, string | null>;
  annotations?: Record<string, string | null>;
  addFinalizers?: readonly string[];
  removeFinalizers?: readonly string[];
  conditions?: readonly ConditionChange[];
  images?: Readonly<Record<string, string>>;
  resources?: Readonly<Record<string, ResourceAmounts>>;
  /** Drops the owner reference with this UID. */
  releaseOwner?: string;
  /** Becomes the pod's controller. */
  addOwner?: OwnerReference;
}

/** One request: a strategic merge patch on the pod or one of its subresources. */
export interface PodPatch {
  readonly subresource?: "status" | "resize";
  readonly body: object;
}

/** Requests to send one after another, and the pod as it is after the last. */
export interface PodWrite {
  readonly steps: readonly PodPatch[];
  readonly after: Pod;
  /** Begins an update: what brings pods back goes before it. */
  readonly begins?: true;
}

/**
 * The body of a strategic merge patch. The UID is always a precondition, so that a pod of the same name
 * made later is never touched; `resourceVersion` is one where the decision depends on what was seen.
 */
export function podPatch(
  pod: Pod,
  change: PodChange,
  now: number,
  options: { subresource?: "status" | "resize"; resourceVersion?: string; resetsManagers?: boolean } = {},
): PodPatch {
  const metadata: Record<string, unknown> = { uid: pod.uid };
  // An empty entry ends the tracking of who wrote which field, which costs the server more than all else of a write.
  // Never where somebody applied: what that manager may prune next time would be forgotten.
  if (options.resetsManagers && pod.fieldManagers === "updates") metadata["managedFields"] = [{}];
  if (options.resourceVersion !== undefined) metadata["resourceVersion"] = options.resourceVersion;
  if (change.labels !== undefined && Object.keys(change.labels).length > 0)
    metadata["labels"] = change.labels;
  if (change.annotations !== undefined && Object.keys(change.annotations).length > 0) {
    metadata["annotations"] = change.annotations;
  }
  if (change.addFinalizers !== undefined && change.addFinalizers.length > 0)
    metadata["finalizers"] = change.addFinalizers;
  const { removeFinalizers = [] } = change;
  const removed = removeFinalizers.filter((finalizer) => pod.finalizers.includes(finalizer));
  if (removed.length > 0) metadata["$deleteFromPrimitiveList/finalizers"] = removed;
  if (change.releaseOwner !== undefined) {
    metadata["ownerReferences"] = [{ $patch: "delete", uid: change.releaseOwner }];
  }
  if (change.addOwner !== undefined) metadata["ownerReferences"] = [change.addOwner];
  const body: Record<string, unknown> = { metadata };
  const containers = containerPatches(change);
  if (containers.length > 0) body["spec"] = { containers };
  if (change.conditions !== undefined && change.conditions.length > 0) {
    body["status"] = {
      conditions: change.conditions.map((condition) => conditionPatch(pod, condition, now)),
    };
  }
  return options.subresource === undefined ? { body } : { subresource: options.subresource, body };
}

function containerPatches(change: PodChange): object[] {
  const names = new Set([...Object.keys(change.images ?? {}), ...Object.keys(change.resources ?? {})]);
  return [...names].map((name) => {
    const image = own(change.images ?? {}, name);
    const resources = own(change.resources ?? {}, name);
    return {
      name,
      ...(image === undefined ? {} : { image }),
      ...(resources === undefined ? {} : { resources }),
    };
  });
}

function conditionPatch(pod: Pod, change: ConditionChange, now: number): object {
  const before = pod.conditions.find((condition) => condition.type === change.type);
  const moved = before?.status !== change.status;
  return {
    type: change.type,
    status: change.status,
    // null removes what an earlier writer left there.
    reason: change.reason ?? (before?.reason ? null : undefined),
    message: change.message ?? (before?.message ? null : undefined),
    ...(moved ? { lastTransitionTime: timestamp(now) } : {}),
  };
}

/** The change in one request. */
export function podWrite(
  pod: Pod,
  change: PodChange,
  now: number,
  options: Parameters<typeof podPatch>[3] = {},
): PodWrite {
  return { steps: [podPatch(pod, change, now, options)], after: afterChange(pod, change, now) };
}

/** The pod as it will be once the change is written: plans of the meantime build on it. */
export function afterChange(pod: Pod, change: PodChange, now: number): Pod {
  return {
    ...pod,
    labels: merged(pod.labels, change.labels),
    annotations: merged(pod.annotations, change.annotations),
    finalizers: finalizersAfter(pod, change),
    conditions: change.conditions ? mergedConditions(pod.conditions, change.conditions, now) : pod.conditions,
    containers: change.images || change.resources ? mergedContainers(pod.containers, change) : pod.containers,
    controller: controllerAfter(pod, change),
  };
}

function finalizersAfter(
  pod: Pod,
  { addFinalizers = [], removeFinalizers = [] }: PodChange,
): Pod["finalizers"] {
  if (addFinalizers.length + removeFinalizers.length === 0) return pod.finalizers;
  const kept = pod.finalizers.filter((finalizer) => !removeFinalizers.includes(finalizer));
  return [...new Set([...kept, ...addFinalizers])];
}

function controllerAfter(pod: Pod, { releaseOwner, addOwner }: PodChange): Pod["controller"] {
  if (addOwner !== undefined) {
    const { apiVersion, kind, name, uid } = addOwner;
    return { group: apiVersion.split("/")[0] ?? "", kind, name, uid };
  }
  return releaseOwner !== undefined && releaseOwner === pod.controller?.uid ? undefined : pod.controller;
}

function merged(
  before: Readonly<Record<string, string>>,
  change: Readonly<Record<string, string | null>> | undefined,
): Readonly<Record<string, string>> {
  if (change === undefined) return before;
  const after = { ...before };
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete after[key];
    else after[key] = value;
  }
  return after;
}

function mergedConditions(
  before: readonly PodCondition[],
  changes: readonly ConditionChange[],
  now: number,
): readonly PodCondition[] {
  const after = [...before];
  for (const change of changes) {
    const index = after.findIndex((condition) => condition.type === change.type);
    const old = index < 0 ? undefined : after[index];
    const next: PodCondition = {
      type: change.type,
      status: change.status,
      reason: change.reason ?? "",
      message: change.message ?? "",
      lastTransitionAt: old?.status === change.status ? old.lastTransitionAt : now,
    };
    if (index < 0) after.push(next);
    else after[index] = next;
  }
  return after;
}

function mergedContainers(before: readonly PodContainer[], change: PodChange): readonly PodContainer[] {
  return before.map((container) => {
    const image = own(change.images ?? {}, container.name);
    const amounts = own(change.resources ?? {}, container.name);
    if (image === undefined && amounts === undefined) return container;
    return {
      ...container,
      image: image ?? container.image,
      resources: amounts
        ? {
            limits: { ...container.resources.limits, ...amounts.limits },
            requests: { ...container.resources.requests, ...amounts.requests },
          }
        : container.resources,
    };
  });
}
