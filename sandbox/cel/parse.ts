/** Reads an expression. Spec: the language definition of CEL, syntax and macros. */
import {
  type BinaryOperator,
  CelSyntaxError,
  comparisons,
  type Expression,
  outsideSubset,
  products,
  sums,
} from "./expression.ts";
import { type Token, tokensOf } from "./tokens.ts";
import { bool, double, int, nullType, string } from "./types.ts";

/** As deep as the server reads. */
const maxDepth = 250;

/** From the loosest to the tightest; all bind to the left. */
const levels: readonly (readonly BinaryOperator[])[] = [["||"], ["&&"], comparisons, sums, products];

const operandStart =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/** Throws CelSyntaxError. */
export function parseExpression(source: string): Expression {
  return new Parser(tokensOf(source)).whole();
}

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): Expression {
    const expression = this.#expression();
    const { kind, text, at } = this.#peek();
    if (kind !== "end")
      throw new CelSyntaxError(at, `Syntax error: extraneous input '${text}' expecting <EOF>`);
    return expression;
  }

  #peek(): Token {
    return this.#tokens[this.#next] ?? { kind: "end", text: "<EOF>", at: 0 };
  }

  #take(): Token {
    const token = this.#peek();
    this.#next += 1;
    return token;
  }

  /** Takes the symbol or keyword if it is next. */
  #accept(text: string): Token | undefined {
    const { kind, text: found } = this.#peek();
    return found === text && (kind === "symbol" || kind === "keyword") ? this.#take() : undefined;
  }

  #expect(text: string): Token {
    const { at, text: found } = this.#peek();
    const token = this.#accept(text);
    if (token === undefined)
      throw new CelSyntaxError(at, `Syntax error: mismatched input '${found}' expecting '${text}'`);
    return token;
  }

  #expression(): Expression {
    return this.#deeper(() => {
      const condition = this.#binary(0);
      const mark = this.#accept("?");
      if (mark === undefined) return condition;
      const yes = this.#binary(0);
      this.#expect(":");
      const no = this.#expression();
      return { kind: "conditional", at: mark.at, condition, yes, no };
    });
  }

  #deeper<T>(read: () => T): T {
    this.#depth += 1;
    if (this.#depth > maxDepth) {
      throw new CelSyntaxError(this.#peek().at, `expression recursion limit exceeded: ${maxDepth}`);
    }
    try {
      return read();
    } finally {
      this.#depth -= 1;
    }
  }

  #binary(level: number): Expression {
    const operators = levels[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    for (;;) {
      const { kind, text } = this.#peek();
      const operator =
        kind === "symbol" || kind === "keyword" ? operators.find((o) => o === text) : undefined;
      if (operator === undefined) return left;
      const { at } = this.#take();
      left = { kind: "binary", at, operator, left, right: this.#binary(level + 1) };
    }
  }

  #unary(): Expression {
    const { at } = this.#peek();
    if (this.#accept("!") !== undefined) {
      return { kind: "unary", at, operator: "!", operand: this.#deeper(() => this.#unary()) };
    }
    if (this.#accept("-") === undefined) return this.#member();
    const { kind } = this.#peek();
    // The smallest integer has no positive twin.
    if (kind === "int" || kind === "double") return this.#member(at);
    return { kind: "unary", at, operator: "-", operand: this.#deeper(() => this.#unary()) };
  }

  #member(minusAt?: number): Expression {
    let of = this.#primary(minusAt);
    for (;;) {
      const { at } = this.#peek();
      if (this.#accept(".") !== undefined) of = this.#selected(of, at);
      else if (this.#accept("[") !== undefined) {
        if (this.#accept("?") !== undefined) throw outsideSubset(at, "optional values");
        const key = this.#expression();
        this.#expect("]");
        of = { kind: "index", at, of, key };
      } else return of;
    }
  }

  #selected(of: Expression, at: number): Expression {
    if (this.#accept("?") !== undefined) throw outsideSubset(at, "optional values");
    const { kind, text: field, at: fieldAt } = this.#peek();
    if (kind !== "name")
      throw new CelSyntaxError(fieldAt, `Syntax error: no viable alternative at input '.${field}'`);
    this.#take();
    const open = this.#accept("(");
    if (open === undefined) return { kind: "select", at, of, field, isTest: false };
    const values = this.#list(")");
    const [variable, predicate, ...more] = values;
    const isMacro = (field === "all" || field === "exists") && more.length === 0;
    if (!isMacro || variable === undefined || predicate === undefined) {
      return { kind: "call", at: open.at, name: field, target: of, values };
    }
    if (variable.kind !== "name") throw new CelSyntaxError(variable.at, "argument must be a simple name");
    return { kind: "quantifier", at: open.at, macro: field, of, variable: variable.name, predicate };
  }

  #list(end: ")" | "]"): Expression[] {
    const items: Expression[] = [];
    while (this.#accept(end) === undefined) {
      if (items.length > 0) {
        this.#expect(",");
        // A list may end with a comma, arguments may not.
        if (end === "]" && this.#accept(end) !== undefined) break;
      }
      items.push(this.#expression());
    }
    return items;
  }

  #primary(minusAt: number | undefined): Expression {
    const token = this.#take();
    const { kind, text } = token;
    const at = minusAt ?? token.at;
    switch (kind) {
      case "string":
        return { kind: "literal", at, type: string, value: text };
      case "double":
        return { kind: "literal", at, type: double, value: Number(text) * (minusAt === undefined ? 1 : -1) };
      case "int":
        return { kind: "literal", at, type: int, value: integer(text, minusAt !== undefined, at) };
      case "name":
        return this.#named(token);
      default:
        return this.#enclosed(token);
    }
  }

  #named({ text: name, at }: Token): Expression {
    const open = this.#accept("(");
    if (open === undefined) return { kind: "name", at, name };
    const values = this.#list(")");
    if (name !== "has") return { kind: "call", at: open.at, name, target: undefined, values };
    const [tested, ...more] = values;
    if (tested?.kind !== "select" || more.length > 0) {
      throw new CelSyntaxError(tested?.at ?? open.at, "invalid argument to has() macro");
    }
    return { ...tested, isTest: true };
  }

  #enclosed({ kind, text, at }: Token): Expression {
    if (kind === "keyword" && (text === "true" || text === "false")) {
      return { kind: "literal", at, type: bool, value: text === "true" };
    }
    if (kind === "keyword" && text === "null") return { kind: "literal", at, type: nullType, value: null };
    if (kind === "symbol" && text === "(") {
      const inner = this.#expression();
      this.#expect(")");
      return inner;
    }
    if (kind === "symbol" && text === "[") return { kind: "list", at, items: this.#list("]") };
    if (kind === "symbol" && text === "{") throw outsideSubset(at, "map literals");
    if (kind === "symbol" && text === ".") throw outsideSubset(at, "names that begin with a dot");
    throw new CelSyntaxError(at, `Syntax error: mismatched input '${text}' expecting ${operandStart}`);
  }
}

function integer(text: string, isNegative: boolean, at: number): bigint {
  const value = isNegative ? -BigInt(text) : BigInt(text);
  if (BigInt.asIntN(64, value) !== value) throw new CelSyntaxError(at, "invalid int literal");
  return value;
}
