/** Numbers that may be percentages: budgets, partitions, surges. */
import { ParseError } from "./errors.ts";
import { goQuote } from "./go_text.ts";
import type { IntOrString } from "./types.ts";

const invalid = (message: string) => new ParseError("InvalidIntOrString", message);

/**
 * An integer as it is, `"p%"` (integer p) as p hundredths of `total`, rounded up or down.
 * Throws ParseError with the API server's words: absent value, string without "%", no integer before "%".
 */
export function scaledValue(value: IntOrString | undefined | null, total: number, roundUp: boolean): number {
  return scale(value, total, roundUp, parseInteger);
}

/** As scaledValue, but the percentage may have a fraction (`"33.3%"`): what partitions accept (spec cloneset 2). */
export function scaledValueOfFraction(
  value: IntOrString | undefined | null,
  total: number,
  roundUp: boolean,
): number {
  return scale(value, total, roundUp, parseFraction);
}

/**
 * Pods that a partition keeps at the old revision, 0…`total`. A percentage below 100 keeps at least one pod
 * updatable when there are several (spec cloneset 4.4, rule 22).
 */
export function partitionReplicas(partition: IntOrString | undefined | null, total: number): number {
  let kept = scaledValueOfFraction(partition ?? 0, total, true);
  if (typeof partition === "string" && partition !== "100%" && total > 1 && kept === total) kept = total - 1;
  return Math.max(0, Math.min(kept, total));
}

export function isPercentage(value: IntOrString): boolean {
  return typeof value === "string" && value.endsWith("%");
}

function scale(
  value: IntOrString | undefined | null,
  total: number,
  roundUp: boolean,
  parse: (digits: string, whole: string) => number,
): number {
  if (value === undefined || value === null) throw invalid("nil value for IntOrString");
  if (typeof value === "number") return value;
  if (!value.endsWith("%")) {
    throw invalid("invalid value for IntOrString: invalid type: string is not a percentage");
  }
  const share = (parse(value.slice(0, -1), value) * total) / 100;
  return roundUp ? Math.ceil(share) : Math.floor(share);
}

function parseInteger(digits: string, whole: string): number {
  if (!/^[+-]?\d+$/.test(digits)) throw unparsable(whole, "Atoi", digits, "invalid syntax");
  const number = Number(digits);
  if (!Number.isSafeInteger(number)) throw unparsable(whole, "Atoi", digits, "value out of range");
  return number;
}

function parseFraction(digits: string, whole: string): number {
  const number = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(digits) ? Number(digits) : Number.NaN;
  if (!Number.isFinite(number)) throw unparsable(whole, "ParseFloat", digits, "invalid syntax");
  return number;
}

function unparsable(whole: string, parser: string, digits: string, why: string): ParseError {
  return invalid(
    `invalid value for IntOrString: invalid value ${goQuote(whole)}: strconv.${parser}: parsing ${goQuote(digits)}: ${why}`,
  );
}
