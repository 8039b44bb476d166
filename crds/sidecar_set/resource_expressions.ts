/** A sidecar's resources as expressions over those of the pod's other containers. Spec: sidecarset 20, 21. */
import {
  formatQuantity,
  isQuantity,
  ParseError,
  parseQuantity,
  type Quantity,
} from "../../kube/core/index.ts";

export interface ExpressionVariable {
  readonly name: "cpu" | "memory";
  /** Cores or bytes. A plain number is what admission tries expressions with, before there is a pod. */
  readonly value: Quantity | number;
}

/** Numbers and quantities have different rules: a product of two quantities has no meaning. */
type Value = number | Quantity;

const longestText = 1024;
const deepestNesting = 64;
const nanoInMilli = 1_000_000n;
const nanoInUnit = 1_000_000_000n;
const most = (2n ** 63n - 1n) * nanoInUnit;

/**
 * The amount that an expression gives: cores in thousandths, memory in whole bytes where the result is a plain number.
 * Throws ParseError `InvalidExpression` with the words that the API is known for; takes time in proportion to the text.
 */
export function evaluateResourceExpression(text: string, variable: ExpressionVariable): Quantity {
  if (text.length > longestText)
    throw parseError(`the expression has ${text.length} characters, at most ${longestText} are allowed`);
  const result = new Evaluation(text, variable).run();
  const amount = typeof result === "number" ? fromNumber(result, variable.name) : result;
  if (amount.nano < 0n) throw invalid(`calculation result is negative: ${formatQuantity(amount)}`);
  if (amount.nano > most) throw invalid(`calculation result is out of range: ${formatQuantity(amount)}`);
  return amount;
}

function fromNumber(value: number, resource: ExpressionVariable["name"]): Quantity {
  return resource === "cpu"
    ? quantityOfNumber(value)
    : { nano: whole(value) * nanoInUnit, format: "BinarySI" };
}

/** Digits with fraction and exponent, then whatever is written without a blank before the next operator. */
const numberPattern = /(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?([\w.%]*)/y;
const namePattern = /[A-Za-z_]\w*/y;
const blankPattern = /\s*/y;
const suffixes: ReadonlySet<string> = new Set(["m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi"]);

/** One pass over the text by recursive descent; values are computed as they are read. */
class Evaluation {
  readonly #text: string;
  readonly #variable: ExpressionVariable;
  #at = 0;
  #depth = 0;

  constructor(text: string, variable: ExpressionVariable) {
    this.#text = text;
    this.#variable = variable;
  }

  run(): Value {
    const value = this.#sum();
    if (this.#at < this.#text.length) throw this.#unexpected();
    return value;
  }

  #sum(): Value {
    let left = this.#product();
    for (;;) {
      if (this.#take("+")) left = sumOf(left, this.#product());
      else if (this.#take("-")) left = sumOf(left, negated(this.#product()));
      else return left;
    }
  }

  #product(): Value {
    let left = this.#operand();
    for (;;) {
      if (this.#take("*")) left = productOf(left, this.#operand());
      else if (this.#take("/")) left = quotientOf(left, this.#operand());
      else return left;
    }
  }

  /** The only step that leads back to itself. */
  #operand(): Value {
    if (++this.#depth > deepestNesting)
      throw parseError(`nested deeper than ${deepestNesting} at position ${this.#at}`);
    const value = this.#readOperand();
    this.#depth--;
    return value;
  }

  #readOperand(): Value {
    if (this.#take("-")) return negated(this.#operand());
    if (this.#take("(")) {
      const value = this.#sum();
      this.#expect(")");
      return value;
    }
    const [name] = this.#match(namePattern) ?? [];
    if (name === undefined) return this.#number();
    return this.#take("(") ? this.#call(name) : this.#valueOf(name);
  }

  #call(name: string): Value {
    const known = name.toLowerCase();
    if (known !== "max" && known !== "min") throw invalid(`unknown function: ${name}`);
    const given: Value[] = [];
    if (!this.#take(")")) {
      do given.push(this.#sum());
      while (this.#take(","));
      this.#expect(")");
    }
    const [left, right] = given;
    if (left === undefined || right === undefined || given.length > 2)
      throw invalid(`${known} function requires exactly 2 arguments, got ${given.length}`);
    const rightIsLess = isLess(right, left);
    const [wanted, other] = rightIsLess === (known === "min") ? [right, left] : [left, right];
    // Beside a quantity, a number is one, too.
    return typeof other === "number" ? wanted : quantityOf(wanted);
  }

  #valueOf(name: string): Value {
    if (name !== this.#variable.name) throw invalid(`undefined variable: ${name}`);
    return this.#variable.value;
  }

  #number(): Value {
    const [text, digits = "", exponent = "", suffix = ""] = this.#match(numberPattern) ?? [];
    if (text === undefined) throw this.#unexpected();
    const value = Number(digits + exponent);
    if (suffix === "" && Number.isFinite(value)) return value;
    if (suffix === "%" && Number.isFinite(value)) return value / 100;
    if (!suffixes.has(suffix) || !isQuantity(text))
      throw parseError(`invalid number ${JSON.stringify(text)}`);
    return parseQuantity(text);
  }

  #take(symbol: string): boolean {
    this.#match(blankPattern);
    if (this.#text[this.#at] !== symbol) return false;
    this.#at++;
    this.#match(blankPattern);
    return true;
  }

  #expect(symbol: string): void {
    if (!this.#take(symbol)) throw this.#unexpected();
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match !== null) this.#at = pattern.lastIndex;
    return match;
  }

  #unexpected(): ParseError {
    const found = this.#text[this.#at];
    const what = found === undefined ? "end of the expression" : `${JSON.stringify(found)}`;
    return parseError(`unexpected ${what} at position ${this.#at}`);
  }
}

function sumOf(left: Value, right: Value): Value {
  if (typeof left === "number" && typeof right === "number") return left + right;
  const [first, second] = [quantityOf(left), quantityOf(right)];
  // Nothing has no format of its own.
  const { format } = first.nano === 0n ? second : first;
  return { nano: first.nano + second.nano, format };
}

function negated(value: Value): Value {
  return typeof value === "number" ? -value : { ...value, nano: -value.nano };
}

function productOf(left: Value, right: Value): Value {
  if (typeof left === "number") return typeof right === "number" ? left * right : scaled(right, left);
  if (typeof right === "number") return scaled(left, right);
  throw invalid("multiplication of two quantities");
}

function quotientOf(left: Value, right: Value): Value {
  if (typeof right !== "number") throw invalid("division by quantity");
  if (right === 0) throw invalid("division by zero");
  if (typeof left === "number") return left / right;
  return { nano: whole(Number(milliOf(left)) / right) * nanoInMilli, format: left.format };
}

function scaled(quantity: Quantity, by: number): Quantity {
  return { nano: whole(Number(milliOf(quantity)) * by) * nanoInMilli, format: quantity.format };
}

function isLess(left: Value, right: Value): boolean {
  if (typeof left === "number" && typeof right === "number") return left < right;
  return quantityOf(left).nano < quantityOf(right).nano;
}

function quantityOf(value: Value): Quantity {
  return typeof value === "number" ? quantityOfNumber(value) : value;
}

function quantityOfNumber(value: number): Quantity {
  return { nano: whole(value * 1000) * nanoInMilli, format: "DecimalSI" };
}

/** Finer parts are rounded up, as the API does wherever it counts in thousandths. */
function milliOf({ nano }: Quantity): bigint {
  return nano / nanoInMilli + (nano % nanoInMilli > 0n ? 1n : 0n);
}

/** Without the fraction. */
function whole(value: number): bigint {
  if (!Number.isFinite(value)) throw invalid(`calculation result is out of range: ${value}`);
  return BigInt(Math.trunc(value));
}

function parseError(detail: string): ParseError {
  return invalid(`parse error: ${detail}`);
}

function invalid(message: string): ParseError {
  return new ParseError("InvalidExpression", message);
}
