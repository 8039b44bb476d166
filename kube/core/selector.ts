/** Label selectors: compiling, matching, the canonical text. The text grammar is in selector_text.ts. */
import { ParseError } from "./errors.ts";
import { forbidden, formatFieldErrors, invalid, keyPath, required } from "./field_errors.ts";
import { compareBytes, goQuote } from "./go_text.ts";
import { labelValueErrors, qualifiedNameErrors } from "./names.ts";
import type { FieldError, LabelSelector, LabelSelectorRequirement, Labels } from "./types.ts";

export type SelectorOperator = "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";

export interface SelectorRequirement {
  readonly key: string;
  readonly operator: SelectorOperator;
  /** One value for the comparing operators, none for `exists` and `!`. */
  readonly values: readonly string[];
}

export interface Selector {
  /** Sorted by key. */
  readonly requirements: readonly SelectorRequirement[];
  /** True if nothing is asked, so that every label set matches. */
  readonly empty: boolean;
  /** Allocates nothing, except for the rare operators gt and lt. */
  matches(labels: Labels | undefined): boolean;
}

const nothing: Selector = { requirements: [], empty: false, matches: () => false };

/**
 * Compiles the selector of an object. An absent selector matches nothing, an empty one everything.
 * Throws ParseError `InvalidSelector` for keys, values or operators that no API server would accept.
 */
export function compileSelector(selector: LabelSelector | undefined | null): Selector {
  if (selector === undefined || selector === null) return nothing;
  const requirements: SelectorRequirement[] = [];
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    requirements.push(checked({ key, operator: "=", values: [value] }));
  }
  for (const expression of selector.matchExpressions ?? []) {
    const operator = operators[expression.operator];
    if (operator === undefined) {
      const message = `${goQuote(expression.operator ?? "")} is not a valid label selector operator`;
      throw new ParseError("InvalidSelector", message);
    }
    requirements.push(checked({ key: expression.key, operator, values: [...(expression.values ?? [])] }));
  }
  return selectorOf(requirements);
}

const operators: Readonly<Record<LabelSelectorRequirement["operator"], SelectorOperator>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!",
};

function checked(requirement: SelectorRequirement): SelectorRequirement {
  const errors = requirementErrors(requirement);
  if (errors.length > 0) throw new ParseError("InvalidSelector", formatFieldErrors(errors));
  return requirement;
}

/** A selector of requirements that are known to be valid. */
export function selectorOf(requirements: readonly SelectorRequirement[]): Selector {
  const sorted = requirements.toSorted((left, right) => compareBytes(left.key, right.key));
  return {
    requirements: sorted,
    empty: sorted.length === 0,
    matches(labels = noLabels) {
      for (const requirement of sorted) if (!holds(requirement, labels)) return false;
      return true;
    },
  };
}

const noLabels: Labels = {};

function holds({ key, operator, values }: SelectorRequirement, labels: Labels): boolean {
  const found: unknown = labels[key];
  // A label that is called like a member of Object.prototype is a function or object when it is absent.
  return requirementHolds(operator, values, typeof found === "string" ? found : undefined);
}

/** Whether a label of this value, undefined for none, is what the operator asks. */
export function requirementHolds(
  operator: SelectorOperator,
  values: readonly string[],
  value: string | undefined,
): boolean {
  switch (operator) {
    case "=":
    case "==":
    case "in":
      return value !== undefined && values.includes(value);
    case "!=":
    case "notin":
      return value === undefined || !values.includes(value);
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    case "gt":
    case "lt":
      return compares(operator, values, value);
  }
}

/** Only integers compare, and only with one. */
function compares(operator: "gt" | "lt", values: readonly string[], value: string | undefined): boolean {
  const [bound] = values;
  if (value === undefined || bound === undefined || values.length > 1) return false;
  if (!isInteger(value) || !isInteger(bound)) return false;
  const difference = BigInt(value.replace("+", "")) - BigInt(bound.replace("+", ""));
  return operator === "gt" ? difference > 0n : difference < 0n;
}

/** A 64-bit integer in decimal. */
function isInteger(text: string): boolean {
  if (!/^[+-]?\d+$/.test(text)) return false;
  const number = BigInt(text.replace("+", ""));
  return number === BigInt.asIntN(64, number);
}

/** What is wrong with one requirement; `path` is where it came from, empty for none. */
export function requirementErrors(requirement: SelectorRequirement): FieldError[] {
  const { key, operator, values } = requirement;
  const errors: FieldError[] = [];
  const keyErrors = qualifiedNameErrors(key);
  if (keyErrors.length > 0) errors.push(invalid("key", key, keyErrors.join("; ")));
  switch (operator) {
    case "in":
    case "notin":
      if (values.length === 0) {
        errors.push(invalid("values", values, "for 'in', 'notin' operators, values set can't be empty"));
      }
      break;
    case "exists":
    case "!":
      if (values.length !== 0) {
        errors.push(invalid("values", values, "values set must be empty for exists and does not exist"));
      }
      break;
    case "gt":
    case "lt":
      values.forEach((value, index) => {
        const message = "for 'Gt', 'Lt' operators, the value must be an integer";
        if (!isInteger(value)) errors.push(invalid(`values[${index}]`, value, message));
      });
      break;
    default:
      if (values.length !== 1) {
        errors.push(invalid("values", values, "exact-match compatibility requires one single value"));
      }
  }
  values.forEach((value, index) => {
    const messages = labelValueErrors(value);
    if (messages.length > 0)
      errors.push(invalid(keyPath(`values[${index}]`, key), value, messages.join("; ")));
  });
  return errors;
}

/**
 * The canonical text of a selector, sorted by key: `app=web,tier in (a,b),!old`. An empty or absent selector
 * gives the empty string. Throws as compileSelector does.
 */
export function formatSelector(selector: LabelSelector | undefined | null): string {
  return selectorText(compileSelector(selector));
}

export function selectorText(selector: Selector): string {
  return selector.requirements.map(requirementText).join(",");
}

function requirementText({ key, operator, values }: SelectorRequirement): string {
  const list = values.toSorted(compareBytes).join(",");
  switch (operator) {
    case "exists":
      return key;
    case "!":
      return `!${key}`;
    case "in":
    case "notin":
      return `${key} ${operator} (${list})`;
    case "gt":
      return `${key}>${list}`;
    case "lt":
      return `${key}<${list}`;
    default:
      return `${key}${operator}${list}`;
  }
}

/** A selector whose operators may be anything. */
export interface SelectorInput {
  readonly matchLabels?: Labels | null;
  readonly matchExpressions?: readonly ExpressionInput[] | null;
}

interface ExpressionInput {
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[] | null;
}

/** Validation of a selector field, with paths below `path`. */
export function validateSelector(selector: SelectorInput | undefined | null, path: string): FieldError[] {
  const errors = validatePodSelector(selector, path);
  (selector?.matchExpressions ?? []).forEach(({ values }, index) => {
    (values ?? []).forEach((value, at) => {
      const place = `${path}.matchExpressions[${index}].values[${at}]`;
      errors.push(...labelValueErrors(value).map((message) => invalid(place, value, message)));
    });
  });
  return errors;
}

/** Of pods in a pod's own template: values of expressions may be any text there, as no pod can have what is no label value. */
export function validatePodSelector(selector: SelectorInput | undefined | null, path: string): FieldError[] {
  if (selector === undefined || selector === null) return [];
  const errors = validateLabels(selector.matchLabels, `${path}.matchLabels`);
  (selector.matchExpressions ?? []).forEach((expression, index) => {
    errors.push(...validateExpression(expression, `${path}.matchExpressions[${index}]`));
  });
  return errors;
}

/** Keys and values of a label map, as the API server complains about them. */
export function validateLabels(labels: Labels | undefined | null, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const key of Object.keys(labels ?? {}).sort(compareBytes)) {
    const value = labels?.[key] ?? "";
    errors.push(...qualifiedNameErrors(key).map((message) => invalid(path, key, message)));
    errors.push(...labelValueErrors(value).map((message) => invalid(path, value, message)));
  }
  return errors;
}

function validateExpression(expression: ExpressionInput, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const values = expression.values ?? [];
  switch (expression.operator) {
    case "In":
    case "NotIn":
      if (values.length === 0) {
        errors.push(required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
      }
      break;
    case "Exists":
    case "DoesNotExist":
      if (values.length > 0) {
        const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
        errors.push(forbidden(`${path}.values`, detail));
      }
      break;
    default:
      errors.push(invalid(`${path}.operator`, expression.operator ?? "", "not a valid selector operator"));
  }
  const key = expression.key ?? "";
  errors.push(...qualifiedNameErrors(key).map((message) => invalid(`${path}.key`, key, message)));
  return errors;
}
