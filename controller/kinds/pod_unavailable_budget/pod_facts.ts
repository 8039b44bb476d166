/** What a budget asks of a pod. Spec: protection A4, rules 8 to 10. */
import {
  hasUnavailableLabel,
  noProtectAnnotation,
  oldRelatedBudgetAnnotation,
  type PodUnavailableBudget,
  relatedBudgetAnnotation,
} from "../../../crds/index.ts";
import { compileSelector, type LabelSelector, type Labels } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { isDigest, runsDigest } from "../../rollout/in_place/running_image.ts";
import { areSidecarsUpdated } from "../../rollout/in_place/sidecars.ts";
import { conditionOf, SPECIFIED_DELETE } from "../../rollout/pods/pod_state.ts";
import { isUpdateComplete } from "../../rollout/pods/readiness.ts";

/** A pod that nobody counts on may always go: it is not ready, or does not run what its spec says. */
export function isAvailableToBudget(pod: Pod): boolean {
  return isBudgetReady(pod) && isConsistent(pod);
}

function isBudgetReady(pod: Pod): boolean {
  return (
    pod.phase === "Running" &&
    pod.deletionAt === undefined &&
    conditionOf(pod, "Ready")?.status === "True" &&
    !hasUnavailableLabel(pod.labels)
  );
}

/** Its workload is going to replace it: as good as disrupted, though it is in service still. */
export function isMarked({ labels }: Pick<Pod, "labels">): boolean {
  return SPECIFIED_DELETE in labels;
}

/** Spec and running containers agree. */
export function isConsistent(pod: Pod): boolean {
  const digests = pod.containers.filter(({ image }) => isDigest(image));
  const areRunning = digests.every(({ name, image }) => {
    const status = pod.containerStatuses.find((each) => each.name === name);
    return status !== undefined && runsDigest(image, status.imageID);
  });
  if (!areRunning) return false;
  if (digests.length === pod.containers.length && digests.length > 0) return true;
  return isUpdateComplete(pod, { verticalScaling: true }) && areSidecarsUpdated(pod);
}

/** The budget that protects the pod, by name. */
export function relatedBudget(annotations: Labels): string | undefined {
  return annotations[relatedBudgetAnnotation] || annotations[oldRelatedBudgetAnnotation] || undefined;
}

/**
 * Whether a budget by selector still selects the pod, whose labels may have changed; one by workload is believed to. One that is being
 * deleted protects nothing.
 */
export function mayProtect(budget: PodUnavailableBudget | undefined, pod: Pick<Pod, "labels">): boolean {
  if (budget === undefined || budget.metadata.deletionTimestamp !== undefined) return false;
  const { selector } = budget.spec;
  return selector ? selects(selector, pod) : true;
}

/** What cannot be read selects nothing. */
export function selects(selector: LabelSelector, { labels }: Pick<Pod, "labels">): boolean {
  try {
    return compileSelector(selector).matches(labels);
  } catch {
    return false;
  }
}

/** As Go reads a boolean. */
export function isUnprotected(annotations: Labels): boolean {
  return ["1", "t", "T", "TRUE", "true", "True"].includes(annotations[noProtectAnnotation] ?? "");
}
