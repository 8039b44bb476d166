/** Resource quantities: `100m`, `1.5Gi`, `2e3`. Values are exact. */
import { ParseError } from "./errors.ts";

export type QuantityFormat = "BinarySI" | "DecimalSI" | "DecimalExponent";

/** An exact amount: `nano` billionths. Finer parts are rounded up, away from zero, as Kubernetes does. */
export interface Quantity {
  readonly nano: bigint;
  readonly format: QuantityFormat;
}

const NANO = 1_000_000_000n;

const decimalSuffixes: readonly [suffix: string, exponent: number][] = [
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
];
const binarySuffixes = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

const MAX_BINARY = (2n ** 63n - 1n) * NANO;
const WRONG_FORMAT =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const WRONG_SUFFIX = "unable to parse quantity's suffix";
/** The suffix is read apart: digits that could belong to either part would be tried in both, for each of them. */
const pattern = /^([+-]?)(\d*)(?:\.(\d*))?(.*)$/s;
const suffixPattern = /^[eEinumkKMGTP]+[-+]?\d*$|^[-+]\d*$|^$/;
/** Amounts are computed exactly: without bounds a short text could stand for thousands of digits. */
const LONGEST = 100;

interface Parts {
  readonly negative: boolean;
  /** Digits before the point without leading zeros, then those after it. */
  readonly whole: string;
  readonly fraction: string;
  readonly base: 2 | 10;
  readonly exponent: number;
  readonly format: QuantityFormat;
}

function split(text: string): Parts {
  if (text === "" || text.length > LONGEST) throw new ParseError("InvalidQuantity", WRONG_FORMAT);
  const [, sign, whole = "", fraction = "", suffix = ""] = pattern.exec(text) ?? [];
  if (!suffixPattern.test(suffix)) throw new ParseError("InvalidQuantity", WRONG_FORMAT);
  if (whole + fraction === "")
    throw new ParseError("InvalidQuantity", "unable to parse numeric part of quantity");
  return {
    negative: sign === "-",
    whole: whole.replace(/^0+/, "") || "0",
    fraction,
    ...parseSuffix(suffix),
  };
}

function parseSuffix(suffix: string): Pick<Parts, "base" | "exponent" | "format"> {
  const binary = binarySuffixes.indexOf(suffix);
  if (binary >= 0) return { base: 2, exponent: 10 * (binary + 1), format: "BinarySI" };
  const decimal = decimalSuffixes.find(([name]) => name === suffix);
  if (decimal !== undefined) return { base: 10, exponent: decimal[1], format: "DecimalSI" };
  const power = /^[eE]([+-]?0*\d{1,2})$/.exec(suffix)?.[1];
  if (power !== undefined) return { base: 10, exponent: Number(power), format: "DecimalExponent" };
  throw new ParseError("InvalidQuantity", WRONG_SUFFIX);
}

/** Parses a quantity; numbers are taken as their decimal text. Throws ParseError `InvalidQuantity`. */
export function parseQuantity(value: string | number): Quantity {
  const { negative, whole, fraction, base, exponent, format } = split(String(value));
  const digits = BigInt(whole + fraction) * (base === 2 ? 1n << BigInt(exponent) : 1n);
  const shift = 9 + (base === 10 ? exponent : 0) - fraction.length;
  let nano = shift >= 0 ? digits * 10n ** BigInt(shift) : ceilDivide(digits, 10n ** BigInt(-shift));
  if (format === "BinarySI" && nano > MAX_BINARY) nano = MAX_BINARY;
  return { nano: negative ? -nano : nano, format };
}

function ceilDivide(value: bigint, by: bigint): bigint {
  return value % by === 0n ? value / by : value / by + 1n;
}

/** True if the value parses as a quantity. */
export function isQuantity(value: unknown): value is string | number {
  if (typeof value !== "string" && typeof value !== "number") return false;
  try {
    parseQuantity(value);
    return true;
  } catch (error) {
    if (error instanceof ParseError) return false;
    throw error;
  }
}

/** Negative, zero or positive, as the left is less than, equal to or greater than the right. */
export function quantityCompare(left: string | number, right: string | number): number {
  const difference = parseQuantity(left).nano - parseQuantity(right).nano;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Equal amounts, however they are written. Texts that are no quantities are equal only to themselves. */
export function quantityEqual(left: string | number, right: string | number): boolean {
  if (left === right) return true;
  return isQuantity(left) && isQuantity(right) && quantityCompare(left, right) === 0;
}

/** The amount as a number, with its loss of precision; cpu in cores, memory in bytes. */
export function quantityValue(value: string | number): number {
  const { nano } = parseQuantity(value);
  return Number(nano / NANO) + Number(nano % NANO) / 1e9;
}

/** The sum, in the format of the left one. */
export function quantityAdd(left: string | number, right: string | number): string {
  const first = parseQuantity(left);
  return formatQuantity({ nano: first.nano + parseQuantity(right).nano, format: first.format });
}

/**
 * The text as a typed round trip through the API server leaves it. Usually the canonical one, without fraction and
 * with the largest suffix that keeps the amount exact (`1.5Gi` -> `1536Mi`, `1000m` -> `1`); texts that look
 * canonical to its parser stay as they are (`12.345`, `1e3`).
 */
export function canonicalQuantity(value: string | number): string {
  const text = String(value);
  return staysAsWritten(split(text)) ? text : formatQuantity(parseQuantity(text));
}

function staysAsWritten({ whole, fraction, base, exponent }: Parts): boolean {
  const digits = whole + fraction;
  if (base === 2) {
    const room = 14 - whole.length - Math.trunc((exponent * 3) / 10);
    return fraction === "" && room >= 0 && (BigInt(whole) & 7n) !== 0n;
  }
  const scale = exponent - fraction.length;
  return (
    digits.length <= 18 &&
    scale >= -9 &&
    scale % 3 === 0 &&
    !digits.endsWith("000") &&
    !digits.startsWith("0")
  );
}

export function formatQuantity({ nano, format }: Quantity): string {
  if (nano === 0n) return "0";
  const sign = nano < 0n ? "-" : "";
  const amount = nano < 0n ? -nano : nano;
  // Binary suffixes only carry whole amounts of at least 1024; the rest is written in decimal.
  if (format === "BinarySI" && amount >= 1024n * NANO && amount % NANO === 0n) {
    return sign + binaryText(amount / NANO);
  }
  let digits = amount;
  let exponent = -9;
  while ((exponent < 18 || format === "DecimalExponent") && digits % 1000n === 0n) {
    digits /= 1000n;
    exponent += 3;
  }
  if (format === "DecimalExponent") return sign + digits + (exponent === 0 ? "" : `e${exponent}`);
  return sign + digits + (decimalSuffixes.find(([, power]) => power === exponent)?.[0] ?? "");
}

function binaryText(amount: bigint): string {
  let digits = amount;
  let power = 0;
  while (power < binarySuffixes.length && digits % 1024n === 0n) {
    digits /= 1024n;
    power++;
  }
  return `${digits}${power === 0 ? "" : binarySuffixes[power - 1]}`;
}
