/** Rules about single values. */
import {
  type FieldError,
  type IntOrString,
  invalid,
  type LabelSelector,
  patternMessage,
  scaledValueOfFraction,
  validateSelector,
} from "../../kube/core/index.ts";

export function nonNegative(path: string, value: number | undefined | null): FieldError[] {
  return typeof value === "number" && value < 0
    ? [invalid(path, value, "must be greater than or equal to 0")]
    : [];
}

/** The amount that a number or percentage, also one with a fraction, stands for, rounded up, or why there is none. */
export function amount(
  name: string,
  value: IntOrString | undefined | null,
  total: number,
): { value: number } | { complaint: string } {
  try {
    return { value: scaledValueOfFraction(value, total, true) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { complaint: `failed GetScaledValueFromIntOrPercent for ${name}: ${message}` };
  }
}

/** Complaints about a number or percentage that must be readable and not negative. */
export function amountErrors(
  path: string,
  name: string,
  value: IntOrString | undefined | null,
): FieldError[] {
  const result = amount(name, value, 100);
  if ("complaint" in result) return [invalid(path, value ?? null, result.complaint)];
  return result.value < 0 ? [invalid(path, value, "must be greater than or equal to 0")] : [];
}

const percentWords = patternMessage(
  "a valid percent string must be a numeric string followed by an ending '%'",
  "[0-9]+%",
  "1%",
  "93%",
);

/** A number that is not negative, or a whole percentage of any size. */
export function intOrPercentErrors(path: string, value: IntOrString): FieldError[] {
  if (typeof value === "number") return nonNegative(path, value);
  return /^[0-9]+%$/.test(value) ? [] : [invalid(path, value, percentWords)];
}

/** The same with percentages of at most 100. */
export function portionErrors(path: string, value: IntOrString): FieldError[] {
  const errors = intOrPercentErrors(path, value);
  if (errors.length > 0 || typeof value === "number" || Number(value.slice(0, -1)) <= 100) return errors;
  return [invalid(path, value, "must not be greater than 100%")];
}

/** A selector that asks for something; `emptyWords` for one that does not. */
export function selectorErrors(path: string, selector: LabelSelector, emptyWords: string): FieldError[] {
  const terms = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length;
  if (terms === 0) return [invalid(path, selector, emptyWords)];
  return validateSelector(selector, path);
}
