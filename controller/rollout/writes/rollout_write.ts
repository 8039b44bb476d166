/** What a rollout does, as ordinary effects, and what the writes of one rollout have to do with each other. Pure. */
import { type PersistentVolumeClaim, type Pod, podResource } from "../../../kube/index.ts";
import type { EventEffect, ObjectEffect, SpendBudgetEffect, WriteEffect } from "../../plan/effects.ts";
import { eventTarget } from "../../plan/event_target.ts";
import { isReady } from "../pods/pod_state.ts";
import type { Action, Concern, FailureMessage, NewClaim, ObjectEvent, RevisionAction } from "./actions.ts";
import { CREATING } from "./pending_pods.ts";

/** Parts of the status that say what keeps a workload from being scaled or updated. */
export type FailingPart = Exclude<Concern, "refresh">;

interface Refusal {
  readonly failed?: EventEffect | undefined;
  /**
   * What the status says when the server refused it, until a write succeeds that `clears` the part; `{error}` is what the
   * server said.
   */
  readonly condition?: { readonly part: FailingPart; readonly message: string };
}

export type RolloutEffect = (WriteEffect | ObjectEffect | SpendBudgetEffect | EventEffect) &
  Pick<Refusal, "condition">;

interface AnyWrite {
  /** Writes of one id exclude each other, and share a backoff. */
  readonly id: string;
  /** Carried out in order, each answered before the next; the first failure drops the rest. */
  readonly effects: readonly RolloutEffect[];
  /** With a share of the client's window that is not that of the workload's other writes. */
  readonly flow?: "creations";
  readonly clears?: FailingPart | undefined;
}

/** A write that plans see as done until it is answered. */
export interface PodWrite extends AnyWrite {
  /**
   * `create`: some must succeed before many are sent. `begin`: takes a pod out of service that may be in it; those of `finish`
   * bring pods back, and are sent first. No lane waits for the answers of another one.
   */
  readonly lane: "create" | "begin" | "finish";
  /** Id among the pending pods. */
  readonly slot: string;
  readonly after: Pod;
  /** The pod is in service, and comes back after this: how many are out at a time is bounded by how fast they come back. */
  readonly leaves?: boolean;
  /** Whether the log tells a refusal. Absent: the event is enough. */
  readonly isLogged?: true;
}

/** A write of something else: sent at once. */
export interface OtherWrite extends AnyWrite {
  readonly lane: "at once";
  /** What the log says of a refusal. Absent: the event is enough. */
  readonly logged?: string;
  /** The rest of the plan waits for it. */
  readonly blocks?: true;
}

/** Creations share one backoff: what refuses one pod refuses the next. */
export const CREATION = "create pods";

type Typed<Type extends Action["type"]> = Extract<Action, { type: Type }>;

/** `namespace`: of what is made for the workload. */
export function rolloutWriteOf(
  namespace: string,
  action: Exclude<Action, { type: "event" }>,
): PodWrite | OtherWrite {
  switch (action.type) {
    case "create pod":
      return podCreation(namespace, action);
    case "patch pod":
      return podPatch(action);
    case "delete pod":
      return podDeletion(action);
    case "create claim": {
      const effects = [claimCreation(namespace, action)];
      return { id: `claim/${action.name}`, lane: "at once", effects, flow: "creations" };
    }
    default:
      return { lane: "at once", logged: `${action.type} failed`, ...otherWrite(namespace, action) };
  }
}

export function eventEffect({ about, ...event }: ObjectEvent): EventEffect {
  if (about === undefined) return { type: "event", event };
  return { type: "event", event, about: eventTarget(podResource, about) };
}

function podCreation(namespace: string, action: Typed<"create pod">): PodWrite {
  const { name, body, after, claims, succeeded, failed } = action;
  const pod = JSON.stringify({ namespace, name });
  const creation: RolloutEffect = {
    ...target("pods", { namespace, name }),
    type: "create",
    body,
    // The name is of our choice: what exists under it after a lost answer is ours or is not.
    existing: "own if lost",
    whenRaced: "report",
    succeeded: succeeded && eventEffect(succeeded),
    failed: failure(failed) ?? warning("FailedCreate", `failed to create pod: {error}, pod: ${pod}`),
    condition: { part: "scale", message: `${failed?.condition ?? "failed to create pod"}: {error}` },
  };
  return {
    id: CREATION,
    lane: "create",
    slot: `${CREATING}${name}`,
    after,
    effects: [...claims.map((claim) => claimCreation(namespace, claim)), creation],
    flow: "creations",
    clears: "scale",
  };
}

function claimCreation(namespace: string, { name, body, succeeded, failed }: NewClaim): RolloutEffect {
  const message = `failed to create pvc: {error}, pvc: ${JSON.stringify({ namespace, name })}`;
  return {
    ...target("claims", { namespace, name }),
    type: "create",
    body,
    existing: "unread",
    whenRaced: "report",
    succeeded: succeeded && eventEffect(succeeded),
    failed: failure(failed) ?? warning("FailedCreate", message),
    condition: { part: "scale", message },
  };
}

function podPatch(action: Typed<"patch pod">): PodWrite {
  const { pod, write, concern, succeeded, failed, disrupts = false, adopts = false } = action;
  const begins = disrupts || write.begins === true;
  const { reason = "FailedUpdate", message = `failed to patch pod ${pod.name}`, about } = failed ?? {};
  const part = concern === "refresh" ? undefined : concern;
  const refusal: Refusal = {
    failed: failure({ reason, message, about }),
    ...(part && { condition: { part, message: `${failed?.condition ?? message}: {error}` } }),
  };
  const effects: RolloutEffect[] = [];
  if (adopts) effects.push({ type: "confirm object", priority: "high", ...refusal });
  if (disrupts) effects.push({ type: "spend budget", pod, ...refusal });
  for (const [index, { subresource, body }] of write.steps.entries()) {
    effects.push({
      ...target("pods", pod),
      type: "patch",
      patch: { type: "strategic", body },
      ...(subresource && { subresource }),
      // What was begun is finished first: from its first request on the pod may be out of service.
      priority: index > 0 || !begins ? "urgent" : "high",
      ...refusal,
    });
  }
  if (succeeded !== undefined) effects.push(eventEffect(succeeded));
  return {
    id: `pod/${pod.uid}`,
    lane: begins ? "begin" : "finish",
    slot: pod.uid,
    after: write.after,
    leaves: begins && isReady(pod),
    effects,
    clears: part,
    isLogged: true,
  };
}

function podDeletion({ pod, claims, succeeded, failed }: Typed<"delete pod">): PodWrite {
  const message = `failed to delete pod ${pod.name}: {error}`;
  const refusal: Refusal =
    failed === undefined
      ? { failed: warning("FailedDelete", message), condition: { part: "scale", message } }
      : { failed: failure(failed) };
  const deletion: RolloutEffect = {
    ...target("pods", pod),
    type: "delete",
    uid: pod.uid,
    succeeded: succeeded && eventEffect(succeeded),
    ...refusal,
  };
  return {
    id: `pod/${pod.uid}`,
    lane: "begin",
    slot: pod.uid,
    after: { ...pod, deletionAt: pod.deletionAt ?? 0 },
    effects: [deletion, ...claims.map((claim): RolloutEffect => ({ ...claimDeletion(claim), ...refusal }))],
    clears: "scale",
  };
}

function claimDeletion(claim: PersistentVolumeClaim): WriteEffect {
  return { ...target("claims", claim), type: "delete", uid: claim.uid };
}

function otherWrite(
  namespace: string,
  action: Exclude<Action, Typed<"event" | "create pod" | "patch pod" | "delete pod" | "create claim">>,
): Pick<OtherWrite, "id" | "effects" | "blocks"> {
  switch (action.type) {
    case "patch claim": {
      const { claim, body, succeeded, failed } = action;
      const effect: WriteEffect = {
        ...target("claims", claim),
        type: "patch",
        patch: { type: "strategic", body },
        succeeded: succeeded && eventEffect(succeeded),
        failed: failure(failed) ?? warning("FailedUpdate", `failed to update PVC ${claim.name}: {error}`),
      };
      return { id: `claim/${claim.name}`, effects: [effect] };
    }
    case "delete claim": {
      const { claim } = action;
      const failed = warning("FailedDelete", `failed to clean up PVC ${claim.name}: {error}`);
      return { id: `claim/${claim.name}`, effects: [{ ...claimDeletion(claim), failed }] };
    }
    case "patch workload":
      return { id: "workload", effects: [{ type: "patch object", body: action.body, priority: "high" }] };
    case "delete workload":
      return { id: "workload", effects: [{ type: "delete object", priority: "high" }] };
    case "create object": {
      const { resource, name, body, succeeded, failed } = action;
      const creation: WriteEffect = {
        ...target(resource, { namespace, name }),
        type: "create",
        body,
        existing: "unread",
        // The API has this one as a Normal event; alerts that count on it keep working.
        failed: failure(failed, "Normal"),
      };
      // Recorded also when the object was there already.
      const events = succeeded === undefined ? [] : [eventEffect(succeeded)];
      return { id: `${resource}/${name}`, effects: [creation, ...events] };
    }
    case "delete object": {
      const { resource, name, uid } = action;
      const effect: WriteEffect = { ...target(resource, { namespace, name }), type: "delete", uid };
      return { id: `${resource}/${name}`, effects: [effect] };
    }
    default: {
      const effect = revisionEffect(namespace, action);
      return { id: `revision/${effect.name}`, effects: [effect], blocks: true };
    }
  }
}

function revisionEffect(namespace: string, action: RevisionAction): WriteEffect {
  if (action.type === "create revision") {
    const { name, body, data } = action;
    return {
      ...target("revisions", { namespace, name }),
      type: "create",
      body,
      texts: { data },
      existing: "any",
    };
  }
  const { revision } = action;
  const { uid, resourceVersion } = revision;
  const revisionTarget = target("revisions", revision);
  return action.type === "patch revision"
    ? { ...revisionTarget, type: "patch", patch: { type: "merge", body: action.body } }
    : { ...revisionTarget, type: "delete", uid, resourceVersion, whenRaced: "retry" };
}

/** `resource`: a name in the `writes` of workloads. */
function target(
  resource: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
) {
  return { resource, namespace, name, priority: "high" } as const;
}

function failure(
  failed: FailureMessage | undefined,
  type: ObjectEvent["type"] = "Warning",
): EventEffect | undefined {
  if (failed === undefined) return undefined;
  const { reason, message, about } = failed;
  return eventEffect({ type, reason, message: `${message}: {error}`, about });
}

function warning(reason: string, message: string): EventEffect {
  return { type: "event", event: { type: "Warning", reason, message } };
}
