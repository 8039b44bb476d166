/** One evaluation of a plan: what was seen, resolved once, and what has been decided so far. */
import type { StatefulSet } from "../../../crds/index.ts";
import type { Selector } from "../../../kube/core/index.ts";
import type { PersistentVolumeClaim, Pod } from "../../../kube/index.ts";
import type { Eligibility } from "../../rollout/in_place/change.ts";
import { isCompleted } from "../../rollout/in_place/completion.ts";
import type { RolloutPass, SeenRollout } from "../../rollout/pass.ts";
import type { FailureMessage, ObjectEvent } from "../../rollout/writes/actions.ts";
import { Decided } from "../../rollout/writes/decided.ts";
import type { PodAction } from "../../rollout/writes/pod_actions.ts";
import type { Member, StatefulSetOptions, Strategy } from "./observe.ts";
import type { SetView } from "./slots.ts";

export interface Seen extends SeenRollout<StatefulSet> {
  /** Owned pods, and those without a controller whose name is one of this set's; writes in flight are applied to them. */
  pods: { refresh(context: PassContext): SetView };
  /** Any cached pod of the namespace. */
  podNamed: (name: string) => Pod | undefined;
  claimNamed: (name: string) => PersistentVolumeClaim | undefined;
}

/** What is known before pods are looked at, and what they are classified by. */
export interface PassContext extends RolloutPass {
  seen: Omit<Seen, "pods">;
  options: StatefulSetOptions;
  strategy: Strategy;
  now: number;
  selector: Selector;
  /** Pods known to need no refresh; a pod's projection never changes, so this outlives passes. */
  refreshed: WeakMap<Pod, boolean>;
}

/** What a rolling update wants changed. */
export interface Reach {
  /** Pods that it wants at the update revision and that are not. */
  readonly outdated: { readonly size: number; has(pod: string): boolean };
  /** Pods that may be gone on with, in the order of the update. */
  readonly order: Iterable<Member>;
  /** Of those: pods about which a hook was asked. */
  readonly begun: Iterable<Member>;
}

/** What a plan is made of. */
export interface ViewedPass extends PassContext {
  pods: SetView;
}

export interface Pass extends ViewedPass {
  /** What the rollout wants changed. */
  reach: Reach;
  /** Eligibility by revision label of the pod. */
  eligible: Map<string, Eligibility>;
  decided: SetDecided;
}

export class SetDecided extends Decided {
  /** Actions on pods that are taken in the end if nothing else was decided for their pod. */
  readonly later: PodAction[] = [];
  /** Text of the condition FailedCreatePod, where a pod cannot even be asked for. */
  creationFailure: string | undefined;
  /** Text of the condition FailedUpdatePod. */
  failure: string | undefined;
}

/** Whether no in-place update of the pod is under way. */
export function isUpdateComplete(pass: PassContext, pod: Pod): boolean {
  return pass.refreshed.get(pod) === true || isCompleted(pod, pass.options);
}

/** The API's words for what happens to a pod. */
export function podWords(
  pass: Pass,
  verb: "create" | "update" | "delete",
  pod: string,
): { succeeded: ObjectEvent; failed: FailureMessage } {
  const title = `${verb.slice(0, 1).toUpperCase()}${verb.slice(1)}`;
  return {
    succeeded: {
      type: "Normal",
      reason: `Successful${title}`,
      message: `${verb} Pod ${pod} in StatefulSet ${pass.name} successful`,
    },
    failed: {
      reason: `Failed${title}`,
      message: `${verb} Pod ${pod} in StatefulSet ${pass.name} failed error`,
      condition: `StatefulPodControl failed to ${verb} Pod error`,
    },
  };
}
