/** Limits and selection of a DaemonSet's rolling update. Spec: daemonset 6, rules 4 and 5. */
import {
  type FieldError,
  type IntOrString,
  invalid,
  notSupported,
  required,
  validateSelector,
} from "../../kube/core/index.ts";
import { portionErrors } from "../rules.ts";
import type { DaemonSetSpec } from "./schema.ts";

type RollingUpdate = NonNullable<NonNullable<DaemonSetSpec["updateStrategy"]>["rollingUpdate"]>;

export function validateRollingUpdate(rolling: RollingUpdate, path: string): FieldError[] {
  const errors = [
    ...amountErrors(`${path}.maxUnavailable`, rolling.maxUnavailable),
    ...amountErrors(`${path}.maxSurge`, rolling.maxSurge),
  ];
  const unavailable = numberOf(rolling.maxUnavailable);
  const surge = numberOf(rolling.maxSurge);
  if (unavailable !== 0 && surge !== 0) {
    const words = "may not be set when maxUnavailable is non-zero";
    errors.push(invalid(`${path}.maxSurge`, rolling.maxSurge, words));
  } else if (unavailable === 0 && surge === 0) {
    errors.push(required(`${path}.maxUnavailable`, "cannot be 0 when maxSurge is 0"));
  }
  errors.push(...typeErrors(rolling, surge, path));
  // The doubled segment is part of the API's texts.
  errors.push(...amountErrors(`${path}.rollingUpdate.partition`, rolling.partition));
  errors.push(...nodeSelectorErrors(rolling, `${path}.selector`));
  return errors;
}

function typeErrors(rolling: RollingUpdate, surge: number, path: string): FieldError[] {
  switch (rolling.rollingUpdateType) {
    case undefined:
    case "":
    case "Standard":
      return [];
    case "InPlaceIfPossible":
      return surge === 0 ? [] : [required(`${path}.maxSurge`, "must be 0 for InPlaceIfPossible type")];
    default:
      return [
        notSupported(`${path}.rollingUpdate.type`, rolling.rollingUpdateType, [
          "Standard",
          "InPlaceIfPossible",
        ]),
      ];
  }
}

function amountErrors(path: string, value: IntOrString | undefined | null): FieldError[] {
  return value === undefined || value === null ? [] : portionErrors(path, value);
}

/** The number before a percent sign, or of a text that is one; 0 for anything else. */
function numberOf(value: IntOrString | undefined | null): number {
  if (typeof value === "number") return value;
  const digits = /^([+-]?\d+)%?$/.exec(value ?? "")?.[1];
  return digits === undefined ? 0 : Number(digits);
}

/** The reference lets a selector pass that it then cannot use: a rollout that never starts. */
function nodeSelectorErrors({ selector }: RollingUpdate, path: string): FieldError[] {
  return selector === undefined || selector === null ? [] : validateSelector(selector, path);
}
