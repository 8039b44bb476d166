/** What a pod counts as for one UnitedDeployment, and what it gives a pass to do. Spec: uniteddeployment 4.6 to 4.8. */
import type { Pod } from "../../../kube/index.ts";
import { NamedPods, type PodSource } from "../../rollout/pods/named_pods.ts";
import { PodIndex, type SlotPods } from "../../rollout/pods/pod_index.ts";
import { conditionOf, isActive, isReady } from "../../rollout/pods/pod_state.ts";
import type { PodClass, PodView } from "../../rollout/pods/pod_view.ts";
import { SortedSlots } from "../../rollout/pods/sorted_slots.ts";
import { PendingPods } from "../../rollout/writes/pending_pods.ts";
import { RESERVED_LABEL, REVISION_LABEL } from "./names.ts";
import type { SubsetWorkload } from "./workload.ts";

/** What pods are classified by. */
export interface ClassifyContext {
  /** Name of the newest revision. */
  readonly revision: string;
  /** Reserve mode: every pod is labelled. */
  readonly reserves: boolean;
}

/** Pods that a pass may have to do something about; groups overlap. */
const newGroups = () => ({
  /** The scheduler has found no node for them. */
  refused: new SortedSlots(),
  /** Of an old revision, and not ready. */
  stale: new SortedSlots(),
  /** Reserve mode: their label is another one than it should be, or may be soon. */
  unsettled: new SortedSlots(),
});
type Groups = ReturnType<typeof newGroups>;
type Group = keyof Groups;

/** By the workload: pods that are active, those of them at the newest revision, and the ready ones of these. */
export type UnitedDeploymentCount = `${"active" | "updated" | "updatedReady"} ${string}`;

export type UnitedView = PodView<Groups, UnitedDeploymentCount, Pod>;

/** Slots are pods by name. The controllers of the workloads write them: nothing is in flight here that a plan has to know. */
export class UnitedIndex extends PodIndex<ClassifyContext, Groups, UnitedDeploymentCount, Pod> {
  constructor(source: PodSource) {
    const nothing = new PendingPods();
    super(
      new NamedPods(source),
      () => nothing,
      {
        slots: () => [],
        basisOf: ({ revision, reserves }) => `${reserves} ${revision}`,
        classify,
      },
      newGroups(),
    );
  }
}

function classify(
  { stored: [pod] }: SlotPods,
  { revision, reserves }: ClassifyContext,
): PodClass<Group, UnitedDeploymentCount, Pod> | undefined {
  const workload = pod && workloadOfPod(pod);
  if (pod === undefined || workload === undefined || !isActive(pod)) return undefined;
  const isUpdated = pod.labels[REVISION_LABEL] === revision;
  const ready = isReady(pod);
  const refused = isRefused(pod);
  const groups: Group[] = [];
  const counts: UnitedDeploymentCount[] = [`active ${workload}`];
  if (refused) groups.push("refused");
  if (!isUpdated && !ready) groups.push("stale");
  const isSettled = pod.labels[RESERVED_LABEL] === "false" && !refused && (isUpdated || ready);
  if (reserves && !isSettled) groups.push("unsettled");
  if (isUpdated) counts.push(`updated ${workload}`);
  if (isUpdated && ready) counts.push(`updatedReady ${workload}`);
  return { groups, counts, entry: pod, atRest: groups.length === 0, expires: false };
}

/** The scheduler has found no node for the pod, however long it has looked. Rule 38. */
function isRefused(pod: Pod): boolean {
  const scheduled = conditionOf(pod, "PodScheduled");
  const isUnschedulable = scheduled?.status === "False" && scheduled.reason === "Unschedulable";
  return isUnschedulable && pod.phase === "Pending" && pod.nodeName === "";
}

/**
 * Pods of a Deployment are owned by its ReplicaSets, which are called after it and the hash that is in a label of their pods:
 * theirs is its name, that of all others the UID of their owner.
 */
function workloadOfPod({ controller, labels }: Pod): string | undefined {
  const suffix = `-${labels["pod-template-hash"] ?? ""}`;
  const isOfDeployment = controller?.kind === "ReplicaSet" && controller.name.endsWith(suffix);
  return isOfDeployment ? controller.name.slice(0, -suffix.length) : controller?.uid;
}

/** The pods of one subset's workload: how many there are, and those that may need something. */
export interface SubsetPods {
  readonly active: number;
  readonly updated: number;
  readonly updatedReady: number;
  readonly refused: readonly Pod[];
  readonly stale: readonly Pod[];
  readonly unsettled: readonly Pod[];
}

const noPods: readonly Pod[] = [];
const nobody: SubsetPods = {
  active: 0,
  updated: 0,
  updatedReady: 0,
  refused: noPods,
  stale: noPods,
  unsettled: noPods,
};

/** The pods of each workload; none where there is no workload. */
export function podsByWorkload(view: UnitedView): (child: SubsetWorkload | undefined) => SubsetPods {
  const grouped = (group: Group) => Map.groupBy(view.entries(view.groups[group]), workloadOfPod);
  const [refused, stale, unsettled] = [grouped("refused"), grouped("stale"), grouped("unsettled")];
  return (child) => {
    if (child === undefined) return nobody;
    const workload = child.template === "deploymentTemplate" ? child.name : child.uid;
    return {
      active: view.count(`active ${workload}`),
      updated: view.count(`updated ${workload}`),
      updatedReady: view.count(`updatedReady ${workload}`),
      refused: refused.get(workload) ?? noPods,
      stale: stale.get(workload) ?? noPods,
      unsettled: unsettled.get(workload) ?? noPods,
    };
  };
}
