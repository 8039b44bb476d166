/** What admission refuses in a WorkloadSpread, in the API's words. Spec: workloadspread 6. */

import {
  compileSelector,
  type FieldError,
  invalid,
  isPercentage,
  ParseError,
  required,
  scaledValue,
} from "../../kube/core/index.ts";
import type { Draft } from "../kind_reader.ts";
import { groupOf, sameTarget, targetReferenceOf } from "../persistent_pod_state/validate.ts";
import { podPartErrors } from "../pod_templates.ts";
import { ratcheted } from "../ratchet.ts";
import { parseProblem } from "../rules.ts";
import type { WorkloadSpread, WorkloadSpreadSpec, WorkloadSpreadSubset } from "./schema.ts";
import { spreadGroupsOf } from "./targets.ts";

export interface WorkloadSpreadValidation {
  /** The objects of the namespace. */
  readonly others: readonly WorkloadSpread[];
  /** Whether a whitelist has the kind. */
  isListed(group: string, kind: string): boolean;
  /** What is wrong with the workload's template once the subset's patch, at `path`, is applied; nothing without a workload. */
  patchErrors(subset: WorkloadSpreadSubset, path: string): readonly FieldError[];
}

/** Seconds in which all subsets but the last are tried, one after the other; below the time that a closed one stays closed. */
const LONGEST_RESCHEDULING = 295;

/** All errors of an object, and, on an update, of the change from `old`. */
export const validateWorkloadSpread = ratcheted(errorsOf);

function errorsOf(
  next: Draft<WorkloadSpread>,
  old: Draft<WorkloadSpread> | undefined,
  context: WorkloadSpreadValidation,
): FieldError[] {
  const { spec } = next;
  if (spec === undefined) return [required("spec")];
  return [
    ...targetErrors(spec, next.metadata.name, context),
    ...subsetErrors(spec, context),
    ...strategyErrors(spec),
    ...filterErrors(spec),
    ...changeErrors(spec, old?.spec),
  ];
}

const targetPath = "spec.targetRef";

function targetErrors(
  spec: WorkloadSpreadSpec,
  name: string | undefined,
  { others, isListed }: WorkloadSpreadValidation,
): FieldError[] {
  if (!spec.targetRef) return [required(targetPath, "no targetRef defined in WorkloadSpread")];
  const target = targetReferenceOf(spec.targetRef);
  const refused = (detail: string) => [invalid(targetPath, target, detail)];
  if (target.apiVersion === "" || target.kind === "" || target.name === "")
    return refused("empty TargetReference is not valid for WorkloadSpread.");
  const group = groupOf(target.apiVersion);
  const groups = spreadGroupsOf(target.kind);
  const errors: FieldError[] = [];
  if (groups !== undefined && !groups.includes(group) && !isListed(group, target.kind))
    errors.push(...refused(`TargetReference is not valid for ${target.kind}.`));
  if (groups === undefined && !isListed(group, target.kind))
    errors.push(...refused("TargetReference's GroupKind is not permitted."));
  const rival = others.find(
    (other) => other.metadata.name !== name && sameTarget(targetReferenceOf(other.spec.targetRef), target),
  );
  if (rival !== undefined) {
    const rivalName = rival.metadata.name ?? "";
    errors.push(...refused(`ws.spec.targetRef is in conflict with other WorkloadSpread ${rivalName}`));
  }
  return errors;
}

function changeErrors(spec: WorkloadSpreadSpec, old: WorkloadSpreadSpec | undefined): FieldError[] {
  const target = targetReferenceOf(spec.targetRef);
  if (old === undefined || sameTarget(target, targetReferenceOf(old.targetRef))) return [];
  const words = "change TargetReference is not permitted for WorkloadSpread";
  return [invalid(targetPath, target, words)];
}

const subsetsPath = "spec.subsets";

function subsetErrors(spec: WorkloadSpreadSpec, context: WorkloadSpreadValidation): FieldError[] {
  const subsets = spec.subsets ?? [];
  if (subsets.length === 0) return [required(subsetsPath, "subsets number must >= 1 in WorkloadSpread")];
  const names = new Set<string>();
  const errors: FieldError[] = [];
  const caps = capRules(spec);
  for (const [index, subset] of subsets.entries()) {
    const path = `${subsetsPath}[${index}]`;
    const { name } = subset;
    if (name === "") errors.push(required(`${path}.name`));
    else if (names.has(name)) errors.push(invalid(`${path}.name`, name, `duplicated subset name ${name}`));
    names.add(name);
    errors.push(...placementErrors(subset, path));
    if (subset.patch) errors.push(...context.patchErrors(subset, `${path}.patch`));
    const wrong = caps(subset, `${path}.maxReplicas`);
    if (wrong !== undefined) return [...errors, wrong];
  }
  return [...errors, ...wholeErrors(spec)];
}

/** Terms and tolerations as the API server checks them in a pod. */
function placementErrors(subset: WorkloadSpreadSubset, path: string): FieldError[] {
  const { requiredNodeSelector: term, preferredNodeSelector: preferred = [], tolerations = [] } = subset;
  const nodeAffinity = {
    ...(term ? { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } : {}),
    preferredDuringSchedulingIgnoredDuringExecution: preferred,
  };
  return podPartErrors({ affinity: { nodeAffinity }, tolerations }, path, {
    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]":
      "requiredNodeSelector",
    "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution": "preferredNodeSelector",
    tolerations: "tolerations",
  });
}

/** The first error ends the checks of subsets. To be asked about each subset, in their order. */
function capRules({
  targetRef,
}: WorkloadSpreadSpec): (subset: WorkloadSpreadSubset, path: string) => FieldError | undefined {
  let type: string | undefined;
  let sum = 0;
  return ({ maxReplicas }, path) => {
    if (maxReplicas === undefined || maxReplicas === null) return undefined;
    const refused = (detail: string) => invalid(path, maxReplicas, detail);
    type ??= typeof maxReplicas;
    if (typeof maxReplicas !== type) return refused("the maxReplicas type of all subsets must be the same");
    if (targetRef?.kind === "StatefulSet" && type === "string")
      return refused("the maxReplicas type must be Int for StatefulSet");
    const share = capNumber(maxReplicas);
    if (share === undefined || share < 0) return refused("maxReplicas is not valid for subset");
    if (type === "number") return undefined;
    sum += share;
    return sum > 100
      ? refused("the sum of all subset's maxReplicas exceeds 100% is no permitted")
      : undefined;
  };
}

/** The number, or the hundredths; undefined for what cannot be read. */
function capNumber(maxReplicas: number | string): number | undefined {
  try {
    return scaledValue(maxReplicas, 100, true);
  } catch (error) {
    if (error instanceof ParseError) return undefined;
    throw error;
  }
}

function wholeErrors({ subsets, scheduleStrategy }: WorkloadSpreadSpec): FieldError[] {
  const errors: FieldError[] = [];
  const isCapped = subsets.at(-1)?.maxReplicas !== undefined;
  const caps = subsets.flatMap(({ maxReplicas }) => (maxReplicas === undefined ? [] : [maxReplicas]));
  const sum = caps.reduce<number>((all, cap) => all + (capNumber(cap) ?? 0), 0);
  if (isCapped && caps.every(isPercentage) && sum < 100) {
    const words = "maxReplicas sum of all subsets must equal 100% when type is specified as percent";
    errors.push(invalid(`${subsetsPath}[0].maxReplicas`, subsets[0]?.maxReplicas, words));
  }
  if (scheduleStrategy?.adaptive && subsets.length > 1 && isCapped) {
    const words = "the last subset's maxReplicas must be not specified when using adaptive scheduleStrategy";
    errors.push(invalid("spec.scheduleStrategy.adaptive", scheduleStrategy.adaptive, words));
  }
  return errors;
}

function strategyErrors({ scheduleStrategy, subsets = [] }: WorkloadSpreadSpec): FieldError[] {
  const { type = "", adaptive } = scheduleStrategy ?? {};
  const path = "spec.scheduleStrategy";
  const errors: FieldError[] = [];
  if (type !== "Adaptive" && type !== "Fixed" && type !== "")
    errors.push(invalid(`${path}.type`, type, "ScheduleStrategy's type is not valid"));
  if (!adaptive) return errors;
  if (type !== "Adaptive") {
    const words = "the scheduleStrategy's type must be adaptive when using adaptive scheduleStrategy";
    errors.push(invalid(`${path}.type`, type, words));
  }
  const seconds = adaptive.rescheduleCriticalSeconds ?? 0;
  const most =
    subsets.length > 1 ? Math.floor(LONGEST_RESCHEDULING / (subsets.length - 1)) : Number.POSITIVE_INFINITY;
  if (seconds < 0 || seconds > most) {
    const words = `rescheduleCriticalSeconds < 0 or rescheduleCriticalSeconds > ${most} is not permitted`;
    errors.push(invalid(`${path}.adaptive.rescheduleCriticalSeconds`, seconds, words));
  }
  return errors;
}

function filterErrors({ targetFilter }: WorkloadSpreadSpec): FieldError[] {
  const problem = parseProblem(() => compileSelector(targetFilter?.selector ?? {}));
  return problem === undefined ? [] : [invalid("spec.targetFilter", targetFilter, problem)];
}
