/** The words of an expression. Spec: the language definition of CEL, lexis. */
import { CelSyntaxError, outsideSubset } from "./expression.ts";

export interface Token {
  readonly kind: "name" | "keyword" | "symbol" | "string" | "int" | "double" | "end";
  /** As written; of a string what it stands for. */
  readonly text: string;
  /** In code points from the beginning. */
  readonly at: number;
}

/** More than any condition that people write; bounds the depth of what is built from them. */
export const maxTokens = 2000;

const blank = /^(?:[\t\n\f\r ]|\/\/[^\n]*)+/u;
const name = /^[_a-zA-Z][_a-zA-Z0-9]*/u;
const double = /^(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)/u;
const integer = /^(?:0x[0-9a-fA-F]+|[0-9]+)/u;
const symbol = /^(?:&&|\|\||==|!=|<=|>=|[<>!?:.,()[\]{}+\-*/%])/u;
const keywords: ReadonlySet<string> = new Set(["in", "true", "false", "null"]);

/** Throws CelSyntaxError. The last token is the end. */
export function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  let rest = source;
  const take = (length: number): string => {
    const taken = rest.slice(0, length);
    rest = rest.slice(length);
    at += [...taken].length;
    return taken;
  };
  for (;;) {
    take(blank.exec(rest)?.[0].length ?? 0);
    const start = at;
    if (rest === "") break;
    if (tokens.length === maxTokens) throw outsideSubset(start, `more than ${maxTokens} tokens`);
    const quoted = stringAt(rest, start);
    if (quoted !== undefined) {
      take(quoted.length);
      tokens.push({ kind: "string", text: quoted.value, at: start });
      continue;
    }
    const { kind, length } = plainAt(rest, start);
    tokens.push({ kind, text: take(length), at: start });
  }
  tokens.push({ kind: "end", text: "<EOF>", at });
  return tokens;
}

function plainAt(rest: string, at: number): { kind: Token["kind"]; length: number } {
  const word = name.exec(rest)?.[0];
  if (word !== undefined) return { kind: keywords.has(word) ? "keyword" : "name", length: word.length };
  const fraction = double.exec(rest)?.[0];
  if (fraction !== undefined) return { kind: "double", length: fraction.length };
  const whole = integer.exec(rest)?.[0];
  if (whole !== undefined) {
    if (/^[uU]/.test(rest.slice(whole.length))) throw outsideSubset(at, "unsigned integers");
    return { kind: "int", length: whole.length };
  }
  const sign = symbol.exec(rest)?.[0];
  if (sign !== undefined) return { kind: "symbol", length: sign.length };
  const [wrong = ""] = rest;
  throw new CelSyntaxError(at, `Syntax error: token recognition error at: '${wrong}'`);
}

const opening = /^(?<prefix>[rRbB]{0,2})(?<quote>"""|'''|"|')/u;

function stringAt(rest: string, at: number): { value: string; length: number } | undefined {
  const { prefix = "", quote } = opening.exec(rest)?.groups ?? {};
  if (quote === undefined) return undefined;
  if (/b/i.test(prefix)) throw outsideSubset(at, "bytes");
  const isRaw = prefix !== "";
  let value = "";
  for (let position = prefix.length + quote.length; position < rest.length; ) {
    if (rest.startsWith(quote, position)) return { value, length: position + quote.length };
    const point = String.fromCodePoint(rest.codePointAt(position) ?? 0);
    if ((point === "\n" || point === "\r") && quote.length === 1) break;
    if (point !== "\\" || isRaw) {
      value += point;
      position += point.length;
      continue;
    }
    const escaped = escapeAt(rest.slice(position, position + 10));
    if (escaped === undefined) break;
    value += escaped.value;
    position += escaped.length;
  }
  throw new CelSyntaxError(
    at,
    `Syntax error: token recognition error at: '${rest.split("\n")[0]?.slice(0, 20)}'`,
  );
}

const simpleEscapes: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "?": "?",
  '"': '"',
  "'": "'",
  "`": "`",
};

const numericEscape =
  /^\\(?:[xX](?<byte>[0-9a-fA-F]{2})|u(?<short>[0-9a-fA-F]{4})|U(?<long>[0-9a-fA-F]{8})|(?<octal>[0-3][0-7]{2}))/u;

function escapeAt(text: string): { value: string; length: number } | undefined {
  const simple = simpleEscapes[text[1] ?? ""];
  if (simple !== undefined) return { value: simple, length: 2 };
  const found = numericEscape.exec(text);
  const { byte, short, long, octal } = found?.groups ?? {};
  const point = octal === undefined ? parseInt(byte ?? short ?? long ?? "", 16) : parseInt(octal, 8);
  const isPoint = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
  return found === null || !isPoint
    ? undefined
    : { value: String.fromCodePoint(point), length: found[0].length };
}
