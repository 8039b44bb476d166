/** What the controller does about one ContainerRecreateRequest: all that is not the agent's. Pure. Spec: containers 1.4. */
import {
  type ContainerRecreateRequest,
  RECREATE_ACTIVE_LABEL,
  RECREATE_UNREADY_FINALIZER,
} from "../../../crds/index.ts";
import { formatTime, timeOf } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { hasGate, KRUISE_READY } from "../../rollout/pods/pod_state.ts";
import { addNotReadyKey, removeNotReadyKey } from "../../rollout/pods/readiness.ts";
import type { RecreateAction, RecreatePlan, RecreateRequestObserved } from "./model.ts";
import { changedSnapshot, completedStatus, withGraceCondition } from "./status.ts";

/** How long an agent may take to say that it has seen a request. */
const SILENCE_MS = 60_000;
/** How often a pod is looked at that nobody watches. */
const LOOK_MS = 3_000;
/**
 * On a pod that is held not ready, since when. A kubelet looks at a pod again when more than the status differs; one that
 * finds only `Ready` changed, in its own words, sets it back to True within 10 s, in the middle of the grace.
 */
const HELD_ANNOTATION = "refit.dev/held-not-ready-since";

export function planRecreateRequest(observed: RecreateRequestObserved, now: number): RecreatePlan {
  const { request } = observed;
  if (request.metadata.deletionTimestamp) return { effects: release(observed) };
  if (request.status?.phase === "Completed") return planFinished(observed, now);
  const end = endOf(observed, now);
  if ("message" in end) {
    return {
      effects: [{ type: "patch status", status: completedStatus(end.message, now), exact: true }],
    };
  }
  const { endsInMs, pod } = end;
  const effects = request.status?.phase === "Recreating" ? planRecreating(request, pod, now) : [];
  const requeueAfterMs = Math.min(endsInMs, observed.watched ? Number.POSITIVE_INFINITY : LOOK_MS);
  return { effects, ...(Number.isFinite(requeueAfterMs) ? { requeueAfterMs } : {}) };
}

/** Why the request ends without its agent (rule 11), or for how long it may still go on. */
function endOf(
  { request, pod }: RecreateRequestObserved,
  now: number,
): { readonly message: string } | { readonly endsInMs: number; readonly pod: Pod } {
  if (pod === undefined) return { message: "pod has gone" };
  const ageMs = now - (timeOf(request.metadata.creationTimestamp) ?? now);
  const { activeDeadlineSeconds } = request.spec;
  const deadlineMs =
    activeDeadlineSeconds === undefined ? Number.POSITIVE_INFINITY : activeDeadlineSeconds * 1000 - ageMs;
  if (deadlineMs <= 0) return { message: "recreating has exceeded the activeDeadlineSeconds" };
  const silenceMs = request.status?.phase ? Number.POSITIVE_INFINITY : SILENCE_MS - ageMs;
  if (silenceMs <= 0) return { message: "daemon has not responded for a long time" };
  return { endsInMs: Math.min(deadlineMs, silenceMs), pod };
}

/**
 * Rule 4: finalizer first, then the pod; the condition for which the agent waits says since when the pod is held, so it comes with the
 * pass that sees the pod held. Rule 12 goes along with it.
 */
function planRecreating(request: ContainerRecreateRequest, pod: Pod, now: number): RecreateAction[] {
  const effects: RecreateAction[] = [];
  let conditions: ReturnType<typeof withGraceCondition>;
  if (typeof request.spec.strategy?.unreadyGracePeriodSeconds === "number") {
    if (hasGate(pod, KRUISE_READY)) effects.push(...hold(request, pod, now));
    const isHeld = effects.every(({ type }) => type !== "set pod conditions");
    if (isHeld) conditions = withGraceCondition(request, now);
  }
  const snapshot = changedSnapshot(request, pod);
  if (conditions !== undefined || snapshot !== undefined) {
    const status = {
      ...(conditions === undefined ? {} : { conditions }),
      ...(snapshot === undefined ? {} : { containerStatusSnapshot: snapshot }),
    };
    // A later snapshot, or the end that the agent has written, stays.
    effects.push({ type: "patch status", status, exact: true });
  }
  return effects;
}

function hold({ metadata }: ContainerRecreateRequest, pod: Pod, now: number): RecreateAction[] {
  const { finalizers = [] } = metadata;
  const effects: RecreateAction[] = [];
  if (!finalizers.includes(RECREATE_UNREADY_FINALIZER)) {
    effects.push({ type: "add finalizer", finalizer: RECREATE_UNREADY_FINALIZER });
  }
  const conditions = addNotReadyKey(pod, notReadyKey(metadata));
  const annotations = { [HELD_ANNOTATION]: formatTime(now) };
  if (conditions.length > 0) effects.push({ type: "set pod conditions", conditions, annotations });
  return effects;
}

/** Rule 13: the pod is given back, then the finalizer and the label go in one write. */
function release({ request, pod }: RecreateRequestObserved): RecreateAction[] {
  const { metadata } = request;
  const { finalizers = [], labels = {} } = metadata;
  const effects: RecreateAction[] = [];
  const held = finalizers.includes(RECREATE_UNREADY_FINALIZER);
  if (held && pod !== undefined) {
    const conditions = removeNotReadyKey(pod, notReadyKey(metadata));
    const annotations = { [HELD_ANNOTATION]: null };
    if (conditions.length > 0) effects.push({ type: "set pod conditions", conditions, annotations });
  }
  const active = Object.hasOwn(labels, RECREATE_ACTIVE_LABEL);
  if (held || active) {
    const rest = finalizers.filter((finalizer) => finalizer !== RECREATE_UNREADY_FINALIZER);
    const given = {
      ...(held ? { finalizers: rest } : {}),
      ...(active ? { labels: { [RECREATE_ACTIVE_LABEL]: null } } : {}),
    };
    effects.push({ type: "patch object", body: { metadata: given }, exact: true });
  }
  return effects;
}

function planFinished(observed: RecreateRequestObserved, now: number): RecreatePlan {
  const { spec, status, metadata } = observed.request;
  const effects = release(observed);
  const { ttlSecondsAfterFinished } = spec;
  if (ttlSecondsAfterFinished === undefined) return { effects };
  const endedAt = timeOf(status?.completionTime) ?? timeOf(metadata.creationTimestamp) ?? now;
  const leftMs = endedAt + ttlSecondsAfterFinished * 1000 - now;
  if (leftMs > 0) return { effects, requeueAfterMs: leftMs };
  return { effects: [...effects, { type: "delete object" }] };
}

/** One entry of the JSON list in the message of a pod's condition `KruisePodReady`. */
function notReadyKey({ namespace = "", name = "" }: ContainerRecreateRequest["metadata"]) {
  return { userAgent: "ContainerRecreateRequest", key: `${namespace}/${name}` };
}
