/** Rules about single values. */
import {
  compileSelector,
  diffPositional,
  encodeTyped,
  type FieldError,
  type IntOrString,
  invalid,
  type LabelSelector,
  ParseError,
  patternMessage,
  required,
  scaledValueOfFraction,
  validateSelector,
} from "../kube/core/index.ts";
import type { PodTemplate } from "./pod_template.ts";

/** Whether a member was written: null counts as absent. */
export function isGiven<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}

/** Why a text cannot be read, as ParseError says it; undefined where it can. */
export function parseProblem(parse: () => unknown): string | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    if (error instanceof ParseError) return error.message;
    throw error;
  }
}

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

/** How much a selector asks for; 0 for one that selects everything. */
export function termCount(selector: LabelSelector | undefined | null): number {
  return Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions ?? []).length;
}

/** A selector that asks for something; `emptyWords` for one that does not. */
export function selectorErrors(path: string, selector: LabelSelector, emptyWords: string): FieldError[] {
  return termCount(selector) === 0 ? [invalid(path, selector, emptyWords)] : validateSelector(selector, path);
}

/** `spec.selector` of a workload of pods: readable, not empty, and matched by the labels of its template. */
export function templateSelectorErrors(
  spec: { selector?: LabelSelector | null; template?: Pick<PodTemplate, "metadata"> | null },
  kind: string,
): FieldError[] {
  const { selector, template } = spec;
  if (!selector) return [required("spec.selector")];
  const errors = validateSelector(selector, "spec.selector");
  if (errors.length > 0) return errors;
  if (termCount(selector) === 0)
    return [invalid("spec.selector", selector, `empty selector is invalid for ${kind}`)];
  const labels = template?.metadata?.labels ?? {};
  if (compileSelector(selector).matches(labels)) return [];
  return [invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")];
}

/**
 * The first change between two pod specs that is no other image of a container, `replace /containers/0/name`. Zeros that a
 * typed client writes or drops are none.
 */
export function changeBesideImages(before: unknown, after: unknown): string | undefined {
  const typed = (spec: unknown) => encodeTyped(spec, "PodSpec");
  const change = diffPositional(typed(before), typed(after)).find(
    ({ op, path }) => op !== "replace" || !/^\/containers\/\d+\/image$/.test(path),
  );
  return change && `${change.op} ${change.path}`;
}
