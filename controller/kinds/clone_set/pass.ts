/** One evaluation of a plan: what is seen, read from the caches, resolved once. Spec: cloneset 4.1, rules 5 to 7. */
import type { CloneSet } from "../../../crds/index.ts";
import type { Labels } from "../../../kube/core/index.ts";
import type { PersistentVolumeClaim } from "../../../kube/index.ts";
import type { Eligibility } from "../../rollout/in_place/change.ts";
import type { RolloutPass, SeenRollout } from "../../rollout/pass.ts";
import type { CloneIndex, CloneView } from "./classify.ts";
import type { Numbers } from "./numbers.ts";
import type { CloneSetOptions, Strategy } from "./observe.ts";
import type { Topology } from "./order.ts";

/** What is read from the caches before a pass. */
export interface Seen extends SeenRollout<CloneSet> {
  /** Owned pods, inactive ones included; writes in flight are already applied to them. */
  pods: CloneIndex;
  claims: readonly PersistentVolumeClaim[];
  /** Labels of a node, for topology spread. */
  nodeLabels: (node: string) => Labels | undefined;
}

/** One evaluation: what was seen, resolved once, and shared by the parts of the plan, which change nothing of it. */
export interface Pass extends RolloutPass {
  seen: Omit<Seen, "pods">;
  options: CloneSetOptions;
  strategy: Strategy;
  now: number;
  random: () => number;
  pods: CloneView;
  numbers: Numbers;
  topology: Topology;
  /** Eligibility by revision label of the pod. */
  eligible: Map<string, Eligibility>;
}
