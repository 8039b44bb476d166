/** What admission refuses in the update strategy and in the limits of a StatefulSet. Spec: statefulset 6. */
import { type FieldError, type IntOrString, invalid } from "../../kube/core/index.ts";
import { podUpdatePolicies } from "../clone_set/names.ts";
import { priorityErrors } from "../clone_set/update_order.ts";
import { nonNegative } from "../rules.ts";
import type { StatefulSetSpec } from "./schema.ts";

const LONGEST_MIN_READY_SECONDS = 300;
const policies: readonly unknown[] = podUpdatePolicies;
const onlyParallel = "can only work with Parallel PodManagementPolicyType";

type RollingUpdate = NonNullable<NonNullable<StatefulSetSpec["updateStrategy"]>["rollingUpdate"]>;

export function validateRollingUpdate(
  spec: StatefulSetSpec,
  rolling: RollingUpdate | undefined,
): FieldError[] {
  const grace = rolling?.inPlaceUpdateStrategy?.gracePeriodSeconds;
  const path = "spec.updateStrategy.rollingUpdate";
  if (rolling === undefined) return [];
  return [
    ...nonNegative(`${path}.partition`, rolling.partition),
    ...validateMinReady(`${path}.minReadySeconds`, rolling.minReadySeconds),
    ...validateLimit(spec, `${path}.maxUnavailable`, rolling.maxUnavailable),
    ...validateUpdatePolicy(spec, `${path}.podUpdatePolicy`, rolling.podUpdatePolicy),
    ...validateUnordered(spec, `${path}.unorderedUpdate`, rolling.unorderedUpdate),
    ...nonNegative(`${path}.inPlaceUpdateStrategy.gracePeriodSeconds`, grace),
  ];
}

export function validateScaleLimit(spec: StatefulSetSpec): FieldError[] {
  return validateLimit(spec, "spec.scaleStrategy.maxUnavailable", spec.scaleStrategy?.maxUnavailable);
}

function validateMinReady(path: string, seconds: number | undefined | null): FieldError[] {
  const errors = nonNegative(path, seconds);
  if (typeof seconds === "number" && seconds > LONGEST_MIN_READY_SECONDS) {
    errors.push(invalid(path, seconds, `must be no more than ${LONGEST_MIN_READY_SECONDS} seconds`));
  }
  return errors;
}

function validateLimit(
  spec: StatefulSetSpec,
  path: string,
  value: IntOrString | undefined | null,
): FieldError[] {
  if (value === undefined || value === null) return [];
  const errors: FieldError[] = [];
  if (spec.podManagementPolicy !== "Parallel" && value !== 1) errors.push(invalid(path, value, onlyParallel));
  const number = typeof value === "number" ? value : percentageOf(value);
  if (number === undefined) {
    errors.push(invalid(path, value, "must be an integer or percentage (e.g '5%%')"));
  } else if (number < 0) {
    errors.push(invalid(path, value, "must be greater than or equal to 0"));
  } else if (number === 0) {
    errors.push(invalid(path, value, "should not be less than 1"));
  }
  return errors;
}

function percentageOf(text: string): number | undefined {
  return /^\d+%$/.test(text) ? Number(text.slice(0, -1)) : undefined;
}

function validateUpdatePolicy(spec: StatefulSetSpec, path: string, policy: unknown): FieldError[] {
  if (!policies.includes(policy)) {
    return [invalid(path, policy ?? "", "must be 'ReCreate', 'InPlaceIfPossible' or 'InPlaceOnly'")];
  }
  if (policy === "ReCreate") return [];
  const gates = spec.template?.spec?.readinessGates ?? [];
  if (gates.some((gate) => gate.conditionType === "InPlaceUpdateReady")) return [];
  const words = `must contains InPlaceUpdateReady when podUpdatePolicy is ${policy}`;
  return [invalid("spec.template.spec.readinessGates", gates, words)];
}

function validateUnordered(
  spec: StatefulSetSpec,
  path: string,
  unordered: RollingUpdate["unorderedUpdate"] | null,
): FieldError[] {
  if (unordered === undefined || unordered === null) return [];
  const errors: FieldError[] = [];
  if (spec.podManagementPolicy !== "Parallel") {
    errors.push(invalid(path, unordered, `unorderedUpdate ${onlyParallel}`));
  }
  return [...errors, ...priorityErrors(`${path}.priorityStrategy`, unordered.priorityStrategy)];
}
