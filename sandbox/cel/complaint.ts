/** What is wrong with an expression, in the server's words: the library's errors have words of their own. */
import {
  type ASTNode,
  type TypeError as CelTypeError,
  type Environment,
  type ParseError,
  serialize,
} from "@marcbachmann/cel-js";

/** An expression that cannot be compiled. */
export class CelSyntaxError extends Error {
  override readonly name = "CelSyntaxError";
  readonly at: number;

  /** `at`: where the server points. */
  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }

  /** As the server prints it: with line and column, and the line itself with a mark below. */
  shownIn(source: string): string {
    const before = source.slice(0, this.at).split("\n");
    const column = [...(before.at(-1) ?? "")].length;
    const line = (source.split("\n")[before.length - 1] ?? "").replaceAll("\t", " ");
    const where = `<input>:${before.length}:${column + 1}`;
    return `ERROR: ${where}: ${this.message}\n | ${line}\n | ${".".repeat(column)}^`;
  }
}

/** What is CEL, but not carried out here. */
export function outsideSubset(at: number, what: string): CelSyntaxError {
  return new CelSyntaxError(at, `the sandbox does not evaluate ${what}`);
}

export function undeclared(at: number, name: string): CelSyntaxError {
  return new CelSyntaxError(at, `undeclared reference to '${name}' (in container '')`);
}

export function noOverload(at: number, name: string, types: string): CelSyntaxError {
  return new CelSyntaxError(at, `found no matching overload for '${name}' applied to '${typeText(types)}'`);
}

/** `list<string>` -> `list(string)`. */
export function typeText(type: string): string {
  return type
    .replace(/^(list|map)$/, "$1<dyn>")
    .replaceAll("<", "(")
    .replaceAll(">", ")");
}

/** What an operand may begin with. */
const operandStart =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

export function syntaxComplaint({ code, summary, range }: ParseError, source: string): CelSyntaxError {
  const at = range?.start ?? 0;
  const syntax = (why: string): CelSyntaxError => new CelSyntaxError(at, `Syntax error: ${why}`);
  const word = /^(?:\w+|.)/su.exec(source.slice(at))?.[0] || "<EOF>";
  switch (code) {
    case "limit_exceeded":
      return summary.includes("maxDepth")
        ? new CelSyntaxError(at, "expression recursion limit exceeded: 250")
        : outsideSubset(at, "expressions of that length");
    case "invalid_macro_argument":
      return macroComplaint(at, summary);
    case "unexpected_token":
      return word === "."
        ? outsideSubset(at, "names that begin with a dot")
        : syntax(`mismatched input '${word}' expecting ${operandStart}`);
    case "expected_token":
      if (summary.startsWith("Expected IDENTIFIER")) {
        if (word === "?") return outsideSubset(at, "optional values");
        return syntax(`no viable alternative at input '.${word}'`);
      }
      return syntax(`mismatched input '${word}'`);
    case "unexpected_character":
      // The library says so also of a whole word behind the end.
      return /^[\w)\]]/.test(word)
        ? syntax(`extraneous input '${word}' expecting <EOF>`)
        : syntax(`token recognition error at: '${word}'`);
    default:
      return syntax(summary);
  }
}

function macroComplaint(at: number, summary: string): CelSyntaxError {
  const isHas = summary.startsWith("has()");
  return new CelSyntaxError(at, isHas ? "invalid argument to has() macro" : "argument must be a simple name");
}

/** The complaint about types; `environment` says of which type a part is. */
export function typeComplaint(
  { code, summary, node, range }: CelTypeError,
  environment: Environment,
): CelSyntaxError {
  const at = node === undefined ? (range?.start ?? 0) : placeOf(node);
  const typesOf = (parts: readonly ASTNode[]): string[] => parts.map((part) => typeOf(part, environment));
  const ofType = /'.*'/.exec(summary)?.[0] ?? "";
  switch (code) {
    case "unknown_variable":
      return undeclared(at, summary.replace("Unknown variable: ", ""));
    case "invalid_macro_argument":
      return macroComplaint(at, summary);
    case "no_such_key":
      return new CelSyntaxError(at, `undefined field '${summary.replace("No such key: ", "")}'`);
    case "cannot_index_type":
      return new CelSyntaxError(at, `type ${typeText(ofType)} does not support field selection`);
    case "no_such_overload": {
      const [, of = ""] = /: (.*)$/.exec(summary) ?? [];
      const [left = "", operator = "", ...right] = of.split(/ (==|!=|[<>]=?|in|[-+*/%]) /);
      if (operator === "") return noOverload(at, `${of[0]}_`, `(${of.slice(1)})`);
      return noOverload(at, operator === "in" ? "@in" : `_${operator}_`, `(${left}, ${right.join("")})`);
    }
    case "heterogeneous_list_element":
      return new CelSyntaxError(at, typeText(summary.slice(summary.indexOf("expected type"))));
    case "invalid_comprehension_range":
      return new CelSyntaxError(at, `e${typeText(summary.slice(1, -1))}`);
    case "no_matching_overload": {
      const [, target = "", name = "", types = ""] = /'(?:(.*)\.)?(\w+)\((.*)\)'/.exec(summary) ?? [];
      return noOverload(at, name, `${target === "" ? "" : `${target}.`}(${types})`);
    }
  }
  switch (node?.op) {
    case "[]":
      return noOverload(at, "_[_]", `(${typesOf(node.args).join(", ")})`);
    case "?:":
      return noOverload(at, "_?_:_", `(${typesOf(node.args).join(", ")})`);
    case "&&":
    case "||": {
      const [left, right] = node.args;
      const wrong = ["bool", "dyn"].includes(typeOf(left, environment)) ? right : left;
      return new CelSyntaxError(placeOf(wrong), `expected type 'bool' but found ${typeText(ofType)}`);
    }
    default:
      return new CelSyntaxError(at, summary);
  }
}

/** `dyn` also for what stands inside a macro and names its variable. */
export function typeOf(part: ASTNode, environment: Environment): string {
  return environment.check(serialize(part)).type ?? "dyn";
}

/** Where the server points for a part: at its operator, bracket or parenthesis. */
export function placeOf(node: ASTNode): number {
  const { input, start } = node;
  switch (node.op) {
    case "value":
    case "id":
    case "list":
    case "map":
    case "!_":
    case "-_":
      return start;
    case "call":
      return input.indexOf("(", start);
    case "rcall":
      return input.indexOf("(", input.indexOf(node.args[0], node.args[1].end));
    case "[]":
    case "[?]":
    case "?:":
    case ".?":
      return input.indexOf(node.op.slice(0, 1), node.args[0].end);
    default:
      return input.indexOf(node.op, node.args[0].end);
  }
}
