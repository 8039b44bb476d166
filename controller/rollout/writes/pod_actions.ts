/** Actions on one pod as every kind makes them, and what pods wait for. Pure. */
import type { PodTemplate } from "../../../crds/index.ts";
import type { ObjectMeta } from "../../../kube/core/index.ts";
import type { PersistentVolumeClaim, Pod, Priority } from "../../../kube/index.ts";
import type { InPlaceStep } from "../in_place/update.ts";
import { isAsked, lifecycleState } from "../lifecycle/lifecycle.ts";
import { acceptedPod } from "../pods/pod_manifest.ts";
import { conditionOf, IN_PLACE_READY, isAvailable, isReady, KRUISE_READY } from "../pods/pod_state.ts";
import { failureOf, type Reports, successOf, targetOf } from "./action_parts.ts";
import type {
  Concern,
  PodCreation,
  PodDeletion,
  PodPatchAction,
  Refusal,
  RolloutEffect,
  Waiting,
} from "./actions.ts";
import { claimCreation, claimDeletionWithPod, type NewClaim } from "./claim_actions.ts";
import { type PodChange, type PodWrite, podWrite } from "./pod_patch.ts";

/** Creations share one backoff: what refuses one pod refuses the next. */
export const CREATION = "create pods";

/** `claims`: created before it; existing ones are skipped. */
export function createPod(
  metadata: ObjectMeta & { namespace: string; name: string },
  spec: PodTemplate["spec"],
  now: number,
  { claims = [], ...reports }: Reports & { readonly claims?: readonly NewClaim[] } = {},
): PodCreation {
  const { namespace, name } = metadata;
  const pod = JSON.stringify({ namespace, name });
  const creation: RolloutEffect = {
    ...targetOf("pods", metadata),
    type: "create",
    body: { apiVersion: "v1", kind: "Pod", metadata, spec },
    // The name is of our choice: what exists under it after a lost answer is ours or is not.
    existing: "own if lost",
    whenRaced: "report",
    succeeded: successOf(reports),
    failed: failureOf(reports, {
      reason: "FailedCreate",
      message: `failed to create pod: {error}, pod: ${pod}`,
    }),
    condition: { part: "scale", message: `${reports.failed?.condition ?? "failed to create pod"}: {error}` },
  };
  return {
    type: "create pod",
    id: CREATION,
    lane: "create",
    concern: "scale",
    after: acceptedPod(metadata, spec, now),
    effects: [...claims.map((claim) => claimCreation(namespace, claim)), creation],
    flow: "creations",
  };
}

export interface PodWriteSettings extends Reports {
  /** Its budget, if it has one, is asked before, also where the write itself leaves the pod in service. */
  readonly disrupts?: boolean;
  /** Makes the workload the pod's controller: only if the server says that it still exists. */
  readonly adopts?: boolean;
}

/**
 * The requests of the write, one after another. What takes the pod out of service asks its budget first: a gate is a matter of the
 * status, and of that no webhook hears.
 */
export function writePod(
  pod: Pod,
  { steps, after, begins }: PodWrite,
  concern: Concern,
  { disrupts = false, adopts = false, ...reports }: PodWriteSettings = {},
): PodPatchAction {
  const asksBudget = disrupts || (isReady(pod) && !isReady(after));
  const asksHook = !isAsked(lifecycleState(pod)) && isAsked(lifecycleState(after));
  const takesOut = asksBudget || begins === true || asksHook;
  const refusal = refusalOfWrite(pod, concern, reports);
  const effects: RolloutEffect[] = [];
  if (adopts) effects.push({ type: "confirm object", priority: "high", ...refusal });
  if (asksBudget) effects.push({ type: "spend budget", pod, ...refusal });
  for (const [index, { subresource, body }] of steps.entries()) {
    effects.push({
      ...targetOf("pods", pod),
      type: "patch",
      patch: { type: "strategic", body },
      ...(subresource && { subresource }),
      priority: priorityOf(pod, { isFirst: index === 0, takesOut }),
      ...refusal,
    });
  }
  const succeeded = successOf(reports);
  if (succeeded !== undefined) effects.push(succeeded);
  return {
    type: "patch pod",
    id: `pod/${pod.uid}`,
    lane: takesOut ? "begin" : "finish",
    concern,
    pod,
    after,
    begins: begins === true,
    // What a hook holds does not come back by itself.
    leaves: (disrupts || begins === true) && isReady(pod),
    effects,
  };
}

/** What was begun is finished first: from its first request on the pod may be out of service. */
function priorityOf(pod: Pod, { isFirst, takesOut }: { isFirst: boolean; takesOut: boolean }): Priority {
  if (!isFirst) return "urgent";
  if (takesOut) return "high";
  return isNew(pod) ? "prompt" : "urgent";
}

/** No gate of ours has been opened yet. The sooner it is, the fewer times its node has to report: it goes before creations. */
function isNew(pod: Pod): boolean {
  return conditionOf(pod, IN_PLACE_READY) === undefined && conditionOf(pod, KRUISE_READY) === undefined;
}

function refusalOfWrite({ name }: Pod, concern: Concern, reports: Reports): Refusal {
  const message = `failed to patch pod ${name}: {error}`;
  const failed = failureOf(reports, { reason: "FailedUpdate", message });
  if (concern === "refresh") return { failed };
  const condition = reports.failed?.condition;
  const text = condition === undefined ? failed.event.message : `${condition}: {error}`;
  return { failed, condition: { part: concern, message: text } };
}

/** One request that moves labels, annotations and conditions together: the status subresource takes all three. */
export function patchPod(
  pod: Pod,
  change: PodChange,
  now: number,
  concern: Concern,
  settings?: PodWriteSettings,
): PodPatchAction {
  const { resourceVersion } = pod;
  const isOfStatus = (change.conditions ?? []).length > 0;
  const how = isOfStatus ? { subresource: "status" as const, resourceVersion } : { resourceVersion };
  return writePod(pod, podWrite(pod, change, now, how), concern, settings);
}

/**
 * `claims`: deleted after it. A pod that is out of service is deleted only as it was seen: that costs no budget, but by now it may be
 * in service.
 */
export function deletePod(
  pod: Pod,
  { claims = [], ...reports }: Reports & { readonly claims?: readonly PersistentVolumeClaim[] } = {},
): PodDeletion {
  const message = `failed to delete pod ${pod.name}: {error}`;
  const failed = failureOf(reports, { reason: "FailedDelete", message });
  // The status tells of it only where the kind has no words for it.
  const refusal: Refusal =
    reports.failed === undefined ? { failed, condition: { part: "scale", message } } : { failed };
  const deletion: RolloutEffect = {
    ...targetOf("pods", pod),
    type: "delete",
    uid: pod.uid,
    ...(mayEnterService(pod) ? { resourceVersion: pod.resourceVersion } : {}),
    succeeded: successOf(reports),
    ...refusal,
  };
  return {
    type: "delete pod",
    id: `pod/${pod.uid}`,
    lane: "begin",
    concern: "scale",
    pod,
    after: { ...pod, deletionAt: pod.deletionAt ?? 0 },
    effects: [deletion, ...claims.map(claimDeletionWithPod)],
  };
}

/** What is about to be deleted comes back only by us. */
function mayEnterService(pod: Pod): boolean {
  return !isReady(pod) || (lifecycleState(pod) !== "PreparingDelete" && !isAvailable(pod, 0, 0));
}

/** A pod waits for its node, or for time, before its update in place goes on. */
export function waitingInPlace(pod: Pod, step: Extract<InPlaceStep, { kind: "waiting" }>): Waiting {
  return {
    reason: step.reason,
    message: `pod ${pod.name}: ${step.because}`,
    until: step.requeueAfterMs === undefined ? "the node reports it" : "the time is over",
    pods: [pod.name],
  };
}
