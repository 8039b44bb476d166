/** What admission refuses in a PodUnavailableBudget, in the API's words. Spec: protection A6. */

import {
  compileSelector,
  type FieldError,
  invalid,
  jsonEqual,
  type LabelSelector,
  notSupported,
  required,
} from "../../kube/core/index.ts";
import type { Draft } from "../kind_reader.ts";
import { sameTarget, targetReferenceOf } from "../persistent_pod_state/validate.ts";
import { ratcheted } from "../ratchet.ts";
import { isGiven, portionErrors, selectorErrors } from "../rules.ts";
import { sameAsTyped } from "../typed_equality.ts";
import { protectedOperations, protectTotalReplicasAnnotation } from "./names.ts";
import type { PodUnavailableBudget, PodUnavailableBudgetSpec } from "./schema.ts";
import { selectorsOverlap } from "./selector_overlap.ts";

type Budget = Draft<PodUnavailableBudget>;

/** All errors of an object, and, on an update, of the change from `old`. `others` are the budgets of the namespace. */
export const validatePodUnavailableBudget = ratcheted(errorsOf);

function errorsOf(
  next: Budget,
  old: Budget | undefined,
  others: readonly PodUnavailableBudget[],
): FieldError[] {
  const spec = next.spec ?? {};
  const errors = [...validateSelection(spec), ...validateAmounts(spec), ...validateOptions(next, spec)];
  if (old !== undefined) {
    const before = old.spec ?? {};
    const isSame =
      sameAsTyped(before.selector, spec.selector, "LabelSelector") &&
      jsonEqual(targetReferenceOf(before.targetRef), targetReferenceOf(spec.targetRef));
    if (!isSame)
      errors.push(required("spec.selector, targetRef", "selector and targetRef cannot be modified"));
  }
  const rivals = others.filter(({ metadata }) => metadata.name !== next.metadata.name);
  return errors.length > 0 ? errors : conflicts(spec, rivals);
}

function validateSelection({ selector, targetRef }: PodUnavailableBudgetSpec): FieldError[] {
  const both = "spec.selector, targetRef";
  if (!selector && !targetRef)
    return [required(both, "no selector or targetRef defined in PodUnavailableBudget")];
  if (selector && targetRef) return [required(both, "selector and targetRef are mutually exclusive")];
  if (targetRef) {
    const { apiVersion, kind, name } = targetRef;
    if (apiVersion && kind && name && apiVersion.split("/").length <= 2) return [];
    return [invalid("spec.targetRef", targetRef, "empty targetRef is not valid for PodUnavailableBudget")];
  }
  return selectorErrors(
    "spec.selector",
    selector ?? {},
    "empty selector is not valid for PodUnavailableBudget.",
  );
}

function validateAmounts({
  maxUnavailable: most,
  minAvailable: least,
}: PodUnavailableBudgetSpec): FieldError[] {
  const both = "spec.maxUnavailable, minAvailable";
  if (isGiven(most) && isGiven(least))
    return [required(both, "maxUnavailable and minAvailable are mutually exclusive")];
  if (isGiven(most)) return portionErrors("spec.maxUnavailable", most);
  if (isGiven(least)) return portionErrors("spec.minAvailable", least);
  return [required(both, "no maxUnavailable or minAvailable defined in PodUnavailableBudget")];
}

function validateOptions({ metadata }: Budget, spec: PodUnavailableBudgetSpec): FieldError[] {
  const errors = (spec.protectOperations ?? []).flatMap((operation, index) =>
    protectedOperations.includes(operation)
      ? []
      : [notSupported(`spec.protectOperations[${index}]`, operation, protectedOperations)],
  );
  const ignored = spec.ignoredPodSelector;
  if (ignored) {
    const empty = "empty ignoredPodSelector is not valid for PodUnavailableBudget";
    errors.push(...selectorErrors("spec.ignoredPodSelector", ignored, empty));
  }
  const path = `metadata.annotations[${protectTotalReplicasAnnotation}]`;
  const text = metadata.annotations?.[protectTotalReplicasAnnotation];
  if (text === undefined || text === "") return errors;
  if (!/^[+-]?\d+$/.test(text) || Math.abs(Number(text)) > 2147483647) {
    errors.push(invalid(path, text, "must be a valid int32"));
  } else if (spec.protectTotalReplicas != null && Number(text) !== spec.protectTotalReplicas) {
    errors.push(invalid(path, text, "must match spec.protectTotalReplicas when both are set"));
  }
  return errors;
}

/** A budget by target and one by selector never conflict. */
function conflicts(spec: PodUnavailableBudgetSpec, rivals: readonly PodUnavailableBudget[]): FieldError[] {
  const target = spec.targetRef && targetReferenceOf(spec.targetRef);
  for (const { metadata, spec: theirs } of rivals) {
    const words = (field: string) =>
      `pub.spec.${field} is in conflict with other PodUnavailableBudget ${metadata.name ?? ""}`;
    if (target && theirs.targetRef && sameTarget(target, targetReferenceOf(theirs.targetRef))) {
      return [invalid("spec.targetReference", target, words("targetReference"))];
    }
    if (spec.selector && theirs.selector && overlap(spec.selector, theirs.selector)) {
      return [invalid("spec.selector", spec.selector, words("selector"))];
    }
  }
  return [];
}

function overlap(a: LabelSelector, b: LabelSelector): boolean {
  try {
    return selectorsOverlap(compileSelector(a), compileSelector(b));
  } catch {
    // A stored selector that nobody can read selects nothing.
    return false;
  }
}
