/** Ties a new pod to the budget that protects it. Spec: pod-webhook 4.5, protection A4 rule 23. */
import {
  groupOf,
  oldRelatedBudgetAnnotation,
  type PodUnavailableBudget,
  relatedBudgetAnnotation,
} from "../../../crds/index.ts";
import { compileSelector, type Labels } from "../../../kube/core/index.ts";
import type { ControllerOf } from "../../../kube/index.ts";
import { controllerIn } from "../../native/owners.ts";
import { type PodDraft, writableObject } from "../../runtime/admission/pod_draft.ts";

type Workload = Pick<ControllerOf, "group" | "kind" | "name">;

export interface RelatedBudgetOptions {
  /** The budgets of a namespace that are not being deleted. */
  budgetsOf(namespace: string): Promise<readonly PodUnavailableBudget[]>;
  /** The controlling owner of a ReplicaSet. */
  controllerOfReplicaSet(namespace: string, name: string): Promise<Workload | undefined>;
}

export async function addRelatedBudget(draft: PodDraft, options: RelatedBudgetOptions): Promise<void> {
  if (draft.request.operation !== "CREATE") return;
  const name = await budgetOf(draft, options).catch(() => undefined);
  // What could not be found out must not keep the pod from being made: the controller ties it later.
  if (name === undefined) return;
  const annotations = writableObject(writableObject(draft.edit(), "metadata"), "annotations");
  annotations[relatedBudgetAnnotation] = name;
  annotations[oldRelatedBudgetAnnotation] = name;
}

async function budgetOf(draft: PodDraft, options: RelatedBudgetOptions): Promise<string | undefined> {
  const budgets = await options.budgetsOf(draft.namespace);
  if (budgets.length === 0) return undefined;
  const byName = [...budgets].sort((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
  const asksForWorkload = budgets.some(({ spec }) => spec.targetRef);
  const workload = asksForWorkload ? await topWorkload(draft, options) : undefined;
  const { labels } = draft;
  return byName.find((budget) => protects(budget, workload, labels))?.metadata.name;
}

function protects({ spec }: PodUnavailableBudget, workload: Workload | undefined, labels: Labels): boolean {
  const { targetRef, selector } = spec;
  if (targetRef) {
    const { apiVersion = "", kind, name } = targetRef;
    return workload?.kind === kind && workload?.name === name && workload?.group === groupOf(apiVersion);
  }
  const compiled = compileSelector(selector);
  return !compiled.empty && compiled.matches(labels);
}

async function topWorkload(draft: PodDraft, options: RelatedBudgetOptions): Promise<Workload | undefined> {
  const owner = controllerIn(draft.metadata);
  if (owner?.group !== "apps" || owner.kind !== "ReplicaSet") return owner;
  return (await options.controllerOfReplicaSet(draft.namespace, owner.name)) ?? owner;
}
