/**
 * `helm template` without helm, for the one chart of this project: as much of Go's templates and of Helm's functions as it uses.
 * What is not known here throws. tools/chart_test.ts holds it to the real helm, where there is one.
 */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { RE2JS } from "re2js";
import { parse, stringify } from "yaml";

type Fields = Record<string, unknown>;
type Expression = (scope: Scope) => unknown;
type Node = (scope: Scope, out: string[]) => void;

interface Scope {
  readonly dot: unknown;
  readonly variables: Map<string, unknown>;
  readonly outer: Scope | undefined;
}

export interface Chart {
  /** Those of values.yaml with the given ones over them. */
  valuesWith(given: unknown): unknown;
  /** All that the templates print for the release `kruise`; throws what they fail with. `values` are all values. */
  render(values: unknown): string;
}

/** Reads a chart once; it can be rendered often. */
export function readChart(folder: string): Chart {
  const text = (path: string): string => readFileSync(join(folder, path), "utf8");
  const { name, appVersion } = parse(text("Chart.yaml"));
  const defined = new Map<string, Node>();
  const printed = readdirSync(join(folder, "templates"))
    .sort()
    .filter((file) => file !== "NOTES.txt")
    .map((file) => {
      const node = parseTemplate(text(`templates/${file}`), defined);
      return file.startsWith("_") ? undefined : node;
    })
    .filter((node) => node !== undefined);
  const files = {
    Get: text,
    Glob: (pattern: string) => {
      const [place = "", suffix = ""] = pattern.split("/*");
      const names = readdirSync(join(folder, place)).filter((file) => file.endsWith(suffix));
      return Object.fromEntries(names.sort().map((file) => [file, text(`${place}/${file}`)]));
    },
  };
  return {
    valuesWith: (given) => merged(parse(text("values.yaml")), given),
    render(values) {
      const copy = structuredClone(fields(values));
      const dot = {
        Values: { ...copy, AsMap: copy },
        Chart: { Name: name, AppVersion: appVersion },
        Release: { Name: "kruise" },
        Files: files,
      };
      return printed.map((node) => printedBy(node, dot)).join("\n");
    },
  };
}

function merged(base: unknown, given: unknown): unknown {
  if (!isFields(base) || !isFields(given)) return given;
  const result = { ...base };
  for (const [name, value] of Object.entries(given)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  }
  return result;
}

function printedBy(node: Node, dot: unknown): string {
  const out: string[] = [];
  node({ dot, variables: new Map([["$", dot]]), outer: undefined }, out);
  return out.join("");
}

/** Text and actions in turn. */
function parseTemplate(source: string, defined: Map<string, Node>): Node {
  const pieces = source.split(/(\{\{-? (?:"(?:[^"\\]|\\.)*"|[^"}])*\}\})/);
  const texts = pieces.map((piece, index) => {
    if (index % 2 === 1) return piece.replace(/^\{\{-? *|(?: *-)?\}\}$/g, "").trim();
    const start = pieces[index - 1]?.endsWith("-}}") ? piece.trimStart() : piece;
    return pieces[index + 1]?.startsWith("{{-") ? start.trimEnd() : start;
  });
  const stray = texts.find((text, index) => index % 2 === 0 && text.includes("{{"));
  if (stray !== undefined) throw new Error(`no action: ${stray}`);
  let at = 0;

  /** Up to the `else` or `end` that belongs to it, which is left to the caller. */
  function block(): Node {
    const nodes: Node[] = [];
    for (; at < texts.length; at++) {
      const text = texts[at] ?? "";
      if (at % 2 === 0) nodes.push((_, out) => void out.push(text));
      else if (/^(else|end)\b/.test(text)) break;
      else if (!text.startsWith("/*")) nodes.push(action(text));
    }
    return (scope, out) => {
      for (const node of nodes) node(scope, out);
    };
  }

  function action(text: string): Node {
    const [, word = "", rest = ""] = /^(if|with|range|define)\s+(.*)$/s.exec(text) ?? [];
    if (word === "") return statement(text);
    at++;
    if (word === "define") {
      defined.set(String(JSON.parse(rest)), block());
      return () => undefined;
    }
    return branch(word, rest);
  }

  function branch(word: string, rest: string): Node {
    const [, key, name, subject = rest] = /^(?:(\$\w+), )?(\$\w+) := (.*)$/s.exec(rest) ?? [];
    const value = pipeline(subject, defined);
    const then = block();
    const [, , otherwise] = /^else( if (.*))?$/s.exec(texts[at] ?? "") ?? [];
    let alternative: Node = () => undefined;
    if (otherwise !== undefined) {
      at++;
      alternative = branch("if", otherwise);
    } else {
      if (texts[at] === "else") {
        at++;
        alternative = block();
      }
      if (texts[at] !== "end") throw new Error(`no end of ${word} ${rest}`);
    }
    return (scope, out) => {
      const found = value(scope);
      if (!isTruthy(found)) return alternative(inner(scope, scope.dot), out);
      if (word !== "range") return then(inner(scope, word === "if" ? scope.dot : found), out);
      for (const [index, item] of entriesOf(found)) {
        const each = inner(scope, item);
        if (name !== undefined) each.variables.set(name, item);
        if (key !== undefined) each.variables.set(key, index);
        then(each, out);
      }
    };
  }

  function statement(text: string): Node {
    const [, name = "", operator, subject = text] = /^(\$\w+) (:?=) (.*)$/s.exec(text) ?? [];
    const value = pipeline(subject, defined);
    return (scope, out) => {
      if (operator === undefined) out.push(printedText(value(scope)));
      else (operator === ":=" ? scope : holder(scope, name)).variables.set(name, value(scope));
    };
  }

  const whole = block();
  if (at < texts.length) throw new Error(`${texts[at]} without a beginning`);
  return whole;
}

function inner(outer: Scope, dot: unknown): Scope {
  return { dot, variables: new Map(), outer };
}

function holder(scope: Scope | undefined, name: string): Scope {
  if (scope === undefined) throw new Error(`undefined variable ${name}`);
  return scope.variables.has(name) ? scope : holder(scope.outer, name);
}

const isName = (token: string): boolean => /^[a-z]\w*$/i.test(token) && !/^(true|false)$/.test(token);

const tokenPattern = /\s*("(?:[^"\\]|\\.)*"|\(|\)[\w.]*|\||-?\d+|[$\w.]+)/y;

/** Commands, each of which is given what the one before it made as its last argument. */
function pipeline(source: string, defined: ReadonlyMap<string, Node>): Expression {
  const tokens: string[] = [];
  tokenPattern.lastIndex = 0;
  for (let end = 0; source.slice(end).trim() !== ""; end = tokenPattern.lastIndex) {
    const [, token] = tokenPattern.exec(source) ?? [];
    if (token === undefined) throw new Error(`cannot read ${source}`);
    tokens.push(token);
  }
  let at = 0;

  function pipes(): Expression {
    let value = command();
    while (tokens[at] === "|") {
      at++;
      value = command(value);
    }
    return value;
  }

  function command(piped?: Expression): Expression {
    const first = tokens[at] ?? "";
    const name = isName(first) ? tokens[at++] : undefined;
    const head = name === undefined ? operand() : () => undefined;
    const given: Expression[] = [];
    while (at < tokens.length && tokens[at] !== "|" && !tokens[at]?.startsWith(")")) given.push(operand());
    const all = piped === undefined ? given : [...given, piped];
    if (name !== undefined) return call(name, all);
    if (all.length === 0) return head;
    return (scope) => {
      const method = head(scope);
      if (typeof method !== "function") throw new Error(`${first} takes no arguments`);
      return method(...all.map((argument) => argument(scope)));
    };
  }

  function operand(): Expression {
    const token = tokens[at++] ?? "";
    if (token === "(") {
      const value = pipes();
      const [, path = ""] = /^\)(.*)$/.exec(tokens[at++] ?? "") ?? [];
      // Go lets brackets stand around what is not there.
      return (scope) => fieldAt(value(scope) ?? {}, path);
    }
    if (/^("|-?\d)/.test(token)) return () => JSON.parse(token);
    if (token === "true" || token === "false") return () => token === "true";
    if (isName(token)) return call(token, []);
    const [whole, variable, path = ""] = /^(\$\w*)?(\..*)?$/.exec(token) ?? [];
    if (whole === undefined) throw new Error(`cannot read ${token} in ${source}`);
    if (variable === undefined) return (scope) => fieldAt(scope.dot, path);
    return (scope) => fieldAt(holder(scope, variable).variables.get(variable), path);
  }

  function call(name: string, given: readonly Expression[]): Expression {
    const operation = functions[name];
    if (name !== "include" && operation === undefined) throw new Error(`unknown function ${name}`);
    return (scope) => {
      const all = given.map((argument) => argument(scope));
      if (operation !== undefined) return operation(...all);
      const template = defined.get(String(all[0]));
      if (template === undefined) throw new Error(`no template ${all[0]}`);
      return printedBy(template, all[1]);
    };
  }

  const value = pipes();
  if (at !== tokens.length) throw new Error(`cannot read ${source}`);
  return value;
}

function fieldAt(value: unknown, path: string): unknown {
  return path
    .split(".")
    .filter((name) => name !== "")
    .reduce<unknown>((at, name) => {
      if (at === undefined || at === null) throw new Error(`nil pointer evaluating .${name}`);
      return fields(at)[name];
    }, value);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fields(value: unknown): Fields {
  if (!isFields(value)) throw new Error(`not an object: ${JSON.stringify(value)}`);
  return value;
}

function items(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`not a list: ${JSON.stringify(value)}`);
  return value;
}

const entriesOf = (value: unknown): readonly (readonly [unknown, unknown])[] =>
  Array.isArray(value) ? [...value.entries()] : Object.entries(fields(value)).sort();

function isTruthy(value: unknown): boolean {
  return isFields(value) || Array.isArray(value) ? entriesOf(value).length > 0 : Boolean(value);
}

function printedText(value: unknown): string {
  if (typeof value === "object" && value !== null) throw new Error(`printed: ${JSON.stringify(value)}`);
  return String(value ?? "");
}

const indented = (width: unknown, text: unknown): string =>
  `\n${String(text)}`.replaceAll("\n", `\n${" ".repeat(Number(width))}`);

const found = (pattern: unknown, text: unknown): string => {
  const matcher = RE2JS.compile(String(pattern)).matcher(String(text));
  return matcher.find() ? (matcher.group() ?? "") : "";
};

/** What a function made of a text: the same files are read and printed for each role and each rendering. */
function remembered<Result>(make: (text: string) => Result): (text: string) => Result {
  const made = new Map<string, { readonly result: Result }>();
  return (text) => {
    const before = made.get(text) ?? { result: make(text) };
    made.set(text, before);
    return before.result;
  };
}

const parsed = remembered<unknown>((text) => parse(text));
const printedYaml = remembered((json) => stringify(JSON.parse(json), { lineWidth: 0 }).trimEnd());

/** Helm's and Go's, each with as many arguments as the chart gives it. */
const functions: Readonly<Record<string, (...given: readonly unknown[]) => unknown>> = {
  and: (...given) => (given.every(isTruthy) ? given.at(-1) : given.find((value) => !isTruthy(value))),
  append: (list, item) => [...items(list), item],
  base: (path) => basename(String(path)),
  concat: (...lists) => lists.flatMap(items),
  default: (fallback, value) => (isTruthy(value) ? value : fallback),
  dict: (...pairs) =>
    Object.fromEntries(
      pairs.flatMap((key, index) => (index % 2 === 0 ? [[String(key), pairs[index + 1]]] : [])),
    ),
  dig: (...given) => {
    const names = given.slice(0, -2).map(String);
    const end = names.reduce<unknown>(
      (at, name) => (at === undefined ? undefined : fields(at)[name]),
      given.at(-1),
    );
    return end === undefined ? given.at(-2) : end;
  },
  eq: (left, right) => left === right,
  fail: (message) => {
    throw new Error(String(message));
  },
  fromYaml: (text) => structuredClone(parsed(String(text))),
  hasKey: (of, name) => String(name) in fields(of),
  hasPrefix: (prefix, text) => String(text).startsWith(String(prefix)),
  index: (of, at) => (Array.isArray(of) ? of[Number(at)] : fields(of)[String(at)]),
  list: (...given) => given,
  // As where there is no cluster: "helm template" and "helm lint".
  lookup: () => ({}),
  lower: (text) => String(text).toLowerCase(),
  merge: (onto, more) => Object.assign(fields(onto), { ...fields(more), ...fields(onto) }),
  nindent: indented,
  not: (value) => !isTruthy(value),
  or: (...given) => given.find(isTruthy) ?? given.at(-1),
  printf: (format, ...given) => {
    const left = given.map(printedText);
    return String(format).replace(/%[sv]/g, () => left.shift() ?? "%!s(MISSING)");
  },
  quote: (value) => (value === undefined || value === null ? "" : JSON.stringify(printedText(value))),
  regexFind: found,
  regexMatch: (pattern, text) => RE2JS.compile(String(pattern)).matcher(String(text)).find(),
  replace: (from, to, text) => String(text).replaceAll(String(from), () => String(to)),
  set: (of, name, value) => Object.assign(fields(of), { [String(name)]: value }),
  ternary: (yes, no, condition) => (condition === true ? yes : no),
  toString: printedText,
  toYaml: (value) => printedYaml(JSON.stringify(value ?? null)),
  trimSuffix: (suffix, text) =>
    String(text).endsWith(String(suffix)) ? String(text).slice(0, -String(suffix).length) : text,
};
