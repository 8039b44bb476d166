/** The text form of label selectors, as kubectl and query strings carry it: `app in (a,b),!old,tier!=x`. */
import { ParseError } from "./errors.ts";
import { formatFieldErrors, invalid } from "./field_errors.ts";
import { compareBytes } from "./go_text.ts";
import { qualifiedNameErrors } from "./names.ts";
import {
  requirementErrors,
  type Selector,
  type SelectorOperator,
  type SelectorRequirement,
  selectorOf,
} from "./selector.ts";

/** Parses a selector; the empty text matches everything. Throws ParseError `InvalidSelector`. */
export function parseSelector(text: string): Selector {
  return selectorOf(new SelectorParser(text).parse());
}

type TokenKind = "end" | "identifier" | "keyword" | "symbol";

interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const tokenPattern = /(?<symbol>==|!=|[=!(),<>])|(?<word>[^=!(),<>\s]+)/g;

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  for (const match of text.matchAll(tokenPattern)) {
    const word = match.groups?.["word"];
    if (word === undefined) tokens.push({ kind: "symbol", text: match[0] });
    else tokens.push({ kind: word === "in" || word === "notin" ? "keyword" : "identifier", text: word });
  }
  return tokens;
}

const end: Token = { kind: "end", text: "" };

const binaryOperators: Readonly<Record<string, SelectorOperator>> = {
  in: "in",
  notin: "notin",
  "=": "=",
  "==": "==",
  "!=": "!=",
  ">": "gt",
  "<": "lt",
};

const fail = (message: string) => new ParseError("InvalidSelector", message);
/** `in` and `notin` are ordinary words wherever a key or a value is expected. */
const isWord = (token: Token) => token.kind === "identifier" || token.kind === "keyword";

class SelectorParser {
  private readonly tokens: readonly Token[];
  private position = 0;

  constructor(text: string) {
    this.tokens = tokenize(text);
  }

  parse(): SelectorRequirement[] {
    const requirements: SelectorRequirement[] = [];
    for (;;) {
      const token = this.peek();
      if (token.kind === "end") return requirements;
      if (!isWord(token) && token.text !== "!") {
        throw fail(`found '${token.text}', expected: !, identifier, or 'end of string'`);
      }
      requirements.push(this.requirement());
      const separator = this.next();
      if (separator.kind === "end") return requirements;
      if (separator.text !== ",") {
        throw fail(`found '${separator.text}', expected: ',' or 'end of string'`);
      }
      const following = this.peek();
      if (!isWord(following) && following.text !== "!") {
        throw fail(`found '${following.text}', expected: identifier after ','`);
      }
    }
  }

  private peek(): Token {
    return this.tokens[this.position] ?? end;
  }

  private next(): Token {
    return this.tokens[this.position++] ?? end;
  }

  private requirement(): SelectorRequirement {
    try {
      const requirement = this.unchecked();
      const errors = requirementErrors(requirement);
      if (errors.length > 0) throw fail(formatFieldErrors(errors));
      return requirement;
    } catch (error) {
      if (error instanceof ParseError) throw fail(`unable to parse requirement: ${error.message}`);
      throw error;
    }
  }

  private unchecked(): SelectorRequirement {
    let token = this.next();
    const negated = token.kind === "symbol" && token.text === "!";
    if (negated) token = this.next();
    if (!isWord(token)) throw fail(`found '${token.text}', expected: identifier`);
    const key = token.text;
    const complaints = qualifiedNameErrors(key);
    if (complaints.length > 0) {
      // The server has no path for the key itself and prints it so.
      throw fail(formatFieldErrors([invalid("<nil>", key, complaints.join("; "))]));
    }
    const after = this.peek();
    if (negated) return { key, operator: "!", values: [] };
    if (after.kind === "end" || (after.kind === "symbol" && after.text === ",")) {
      return { key, operator: "exists", values: [] };
    }
    const operator = this.operator();
    const values = operator === "in" || operator === "notin" ? this.valueSet() : [this.exactValue()];
    return { key, operator, values };
  }

  private operator(): SelectorOperator {
    const token = this.next();
    const operator =
      token.kind !== "identifier" && Object.hasOwn(binaryOperators, token.text)
        ? binaryOperators[token.text]
        : undefined;
    if (operator === undefined) {
      throw fail(`found '${token.text}', expected: in, notin, =, ==, !=, gt, lt`);
    }
    return operator;
  }

  private valueSet(): string[] {
    const open = this.next();
    if (open.text !== "(") throw fail(`found '${open.text}' expected: '('`);
    const first = this.peek();
    if (first.text === ")") {
      this.next();
      return [""];
    }
    if (!isWord(first) && first.text !== ",") {
      throw fail(`found '${first.text}', expected: ',', ')' or identifier`);
    }
    const values = this.identifiers();
    if (this.next().text !== ")") throw fail(`found '${first.text}', expected: ')'`);
    return [...values].sort(compareBytes);
  }

  private identifiers(): Set<string> {
    const values = new Set<string>();
    for (;;) {
      const token = this.next();
      const following = this.peek();
      if (isWord(token)) {
        values.add(token.text);
        if (following.text === ")") return values;
        if (following.text !== ",") throw fail(`found '${following.text}', expected: ',' or ')'`);
      } else if (token.text === ",") {
        if (values.size === 0) values.add("");
        if (following.text === ")" || following.text === ",") values.add("");
        if (following.text === ")") return values;
        if (following.text === ",") this.next();
      } else {
        throw fail(`found '${token.text}', expected: ',', or identifier`);
      }
    }
  }

  private exactValue(): string {
    const token = this.peek();
    if (token.kind === "end" || token.text === ",") return "";
    this.next();
    if (!isWord(token)) throw fail(`found '${token.text}', expected: identifier`);
    return token.text;
  }
}
