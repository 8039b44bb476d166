/**
 * Regular expressions as Go reads them (RE2), for texts that users give. Matching takes time in proportion to text and
 * expression, whatever both are: an engine that backtracks could be made to run for years by a dozen characters.
 */
import { ParseError } from "./errors.ts";

export interface GoRegexp {
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean;
}

type Holds = (character: string) => boolean;
type Position = "textStart" | "textEnd" | "lineStart" | "lineEnd" | "wordEdge" | "noWordEdge";

/** A program: each step says where it goes on. */
type Step =
  | { readonly kind: "character"; readonly holds: Holds; next: number }
  | { readonly kind: "position"; readonly position: Position; next: number }
  | { readonly kind: "fork"; next: number; other: number }
  | { readonly kind: "match" };

/** What can be read or repeated: made into steps that lead to `next`; returns the first of them. */
type Piece = (program: Step[], next: number) => number;

const longestPattern = 1000;
const mostSteps = 5000;
const mostRepeats = 1000;

/** Throws ParseError `InvalidPattern` in the words of Go. */
export function compileGoRegexp(pattern: string): GoRegexp {
  if (pattern.length > longestPattern) throw wrong("expression too large");
  const program: Step[] = [{ kind: "match" }];
  const start = new Parser(pattern).parse()(program, 0);
  return { test: (text) => matches(program, start, text) };
}

/** All ways at once, character by character. */
function matches(program: readonly Step[], start: number, text: string): boolean {
  const characters = [...text];
  let states: number[] = [];
  for (let at = 0; at <= characters.length; at++) {
    const reached = new Set<number>();
    const readers: number[] = [];
    const open = [start, ...states.reverse()];
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      if (reached.has(state)) continue;
      reached.add(state);
      const step = program[state];
      if (step?.kind === "match") return true;
      if (step?.kind === "character") readers.push(state);
      if (step?.kind === "fork") open.push(step.other, step.next);
      if (step?.kind === "position" && isAt(step.position, characters, at)) open.push(step.next);
    }
    states = [];
    const character = characters[at];
    if (character === undefined) return false;
    for (const state of readers) {
      const step = program[state];
      if (step?.kind === "character" && step.holds(character)) states.push(step.next);
    }
  }
  return false;
}

function isAt(position: Position, characters: readonly string[], at: number): boolean {
  switch (position) {
    case "textStart":
      return at === 0;
    case "textEnd":
      return at === characters.length;
    case "lineStart":
      return at === 0 || characters[at - 1] === "\n";
    case "lineEnd":
      return at === characters.length || characters[at] === "\n";
    case "wordEdge":
      return isWord(characters[at - 1] ?? "") !== isWord(characters[at] ?? "");
    case "noWordEdge":
      return isWord(characters[at - 1] ?? "") === isWord(characters[at] ?? "");
  }
}

const isWord = oneOf("0-9A-Za-z_");

interface Flags {
  readonly ignoreCase: boolean;
  readonly multiLine: boolean;
  readonly dotAll: boolean;
}

const flagNames: Readonly<Record<string, keyof Flags | undefined>> = {
  i: "ignoreCase",
  m: "multiLine",
  s: "dotAll",
};

const classes: Readonly<Record<string, string>> = { d: "0-9", s: "\\t\\n\\f\\r ", w: "0-9A-Za-z_" };
const escapes: Readonly<Record<string, string>> = {
  a: "\x07",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};
const posixClasses: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\0-\\x7f",
  blank: "\\t ",
  cntrl: "\\0-\\x1f\\x7f",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: " -~",
  punct: "!-\\/:-@\\[-`{-~",
  space: "\\t\\n\\v\\f\\r ",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
};
const positions: Readonly<Record<string, Position>> = {
  A: "textStart",
  z: "textEnd",
  b: "wordEdge",
  B: "noWordEdge",
};

/** Whether a character is in a class that both engines write alike; never more than one character is tried. */
function oneOf(members: string): Holds {
  const expression = new RegExp(`^[${members}]$`, "u");
  return (character) => expression.test(character);
}

class Parser {
  readonly #pattern: string;
  #at = 0;
  #flags: Flags = { ignoreCase: false, multiLine: false, dotAll: false };

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  parse(): Piece {
    const piece = this.#alternatives();
    if (this.#at < this.#pattern.length) throw wrong("unexpected )", this.#pattern);
    return piece;
  }

  #alternatives(): Piece {
    const flags = this.#flags;
    const options = [this.#sequence()];
    while (this.#take("|")) options.push(this.#sequence());
    // What a group changes ends with it.
    this.#flags = flags;
    return options.reduce((left, right) => either(left, right));
  }

  #sequence(): Piece {
    const pieces: Piece[] = [];
    while (this.#at < this.#pattern.length && !this.#sees("|") && !this.#sees(")")) {
      const start = this.#at;
      const quoted = this.#match(/\\Q(.*?)(?:\\E|$)/sy);
      if (quoted !== undefined) {
        for (const character of quoted[1] ?? "") pieces.push(this.#literal(character));
        continue;
      }
      const piece = this.#piece();
      if (piece !== undefined) pieces.push(this.#repeated(piece, start));
    }
    return (program, next) => pieces.reduceRight((after, piece) => piece(program, after), next);
  }

  /** Undefined for flags alone. */
  #piece(): Piece | undefined {
    const character = this.#character();
    switch (character) {
      case "(":
        return this.#group();
      case "[":
        return reading(this.#class());
      case ".":
        return reading(this.#flags.dotAll ? () => true : (found) => found !== "\n");
      case "^":
        return at(this.#flags.multiLine ? "lineStart" : "textStart");
      case "$":
        return at(this.#flags.multiLine ? "lineEnd" : "textEnd");
      case "*":
      case "+":
      case "?":
        throw wrong("missing argument to repetition operator", character);
      case "\\":
        return this.#escaped();
      default:
        return this.#literal(character);
    }
  }

  #group(): Piece | undefined {
    const start = this.#at - 1;
    const named = this.#match(/\?(?:P?<\w+>)/y);
    if (named === undefined && this.#sees("?")) {
      const [text, on = "", off = "", end] = this.#match(/\?([imsU]*)(?:-([imsU]+))?([:)])/y) ?? [];
      if (text === undefined)
        throw wrong("invalid or unsupported Perl syntax", this.#pattern.slice(start, start + 3));
      const outer = this.#flags;
      this.#flags = { ...outer, ...flagsOf(on, true), ...flagsOf(off, false) };
      if (end === ")") return undefined;
      const piece = this.#closed();
      this.#flags = outer;
      return piece;
    }
    return this.#closed();
  }

  #closed(): Piece {
    const piece = this.#alternatives();
    if (!this.#take(")")) throw wrong("missing closing )", this.#pattern);
    return piece;
  }

  /** However often: greedy or not makes no difference to whether there is a match. */
  #repeated(piece: Piece, start: number): Piece {
    const counts = this.#counts();
    if (counts === undefined) return piece;
    this.#take("?");
    const again = this.#counts();
    if (again !== undefined)
      throw wrong("invalid nested repetition operator", this.#pattern.slice(start, this.#at));
    return repeated(piece, ...counts);
  }

  #counts(): [least: number, most: number] | undefined {
    if (this.#take("*")) return [0, Number.POSITIVE_INFINITY];
    if (this.#take("+")) return [1, Number.POSITIVE_INFINITY];
    if (this.#take("?")) return [0, 1];
    const [text, from, comma, to] = this.#match(/\{(\d{1,5})(,?)(\d{0,5})\}/y) ?? [];
    if (text === undefined) return undefined;
    const least = Number(from);
    const most = comma === "" ? least : to === "" ? Number.POSITIVE_INFINITY : Number(to);
    if (least > mostRepeats || (most > mostRepeats && to !== "") || most < least)
      throw wrong("invalid repeat count", text);
    return [least, most];
  }

  #escaped(): Piece {
    const [name] = this.#match(/[AzbB]/y) ?? [];
    const position = name === undefined ? undefined : positions[name];
    return position === undefined ? reading(this.#folded(this.#escape())) : at(position);
  }

  /** Behind a backslash, inside a class or not. */
  #escape(): Holds {
    const unicode = this.#match(/([pP])(?:\{(\^?)(\w+)\}|()(\w))/y);
    if (unicode !== undefined) return unicodeClass(unicode);
    const [hex, long, short] = this.#match(/x(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2}))/y) ?? [];
    if (hex !== undefined) {
      const code = Number.parseInt(long ?? short ?? "", 16);
      if (code > 0x10ffff) throw wrong("invalid escape sequence", `\\${hex}`);
      return exactly(String.fromCodePoint(code));
    }
    const character = this.#character("trailing backslash at end of expression");
    const members = classes[character.toLowerCase()];
    if (members !== undefined && /^[dswDSW]$/.test(character)) {
      const holds = oneOf(members);
      return character === character.toLowerCase() ? holds : (found) => !holds(found);
    }
    const control = escapes[character];
    if (control !== undefined) return exactly(control);
    if (/^[\w]$/.test(character)) throw wrong("invalid escape sequence", `\\${character}`);
    return exactly(character);
  }

  #class(): Holds {
    const start = this.#at - 1;
    const negated = this.#take("^");
    const members: Holds[] = [];
    while (members.length === 0 || !this.#sees("]")) {
      if (this.#at >= this.#pattern.length) throw wrong("missing closing ]", this.#pattern.slice(start));
      members.push(this.#folded(this.#member(start)));
    }
    this.#take("]");
    const holds: Holds = (character) => members.some((member) => member(character));
    return negated ? (character) => !holds(character) : holds;
  }

  #member(start: number): Holds {
    const [posix, not, name] = this.#match(/\[:(\^?)(\w+):\]/y) ?? [];
    if (posix !== undefined) {
      const members = name === undefined ? undefined : posixClasses[name];
      if (members === undefined) throw wrong("invalid character class range", posix);
      const holds = oneOf(members);
      return not === "^" ? (character) => !holds(character) : holds;
    }
    const from = this.#end(start);
    if (typeof from !== "string" || !this.#match(/-(?!\])/y))
      return typeof from === "string" ? exactly(from) : from;
    const to = this.#end(start);
    if (typeof to !== "string" || (to.codePointAt(0) ?? 0) < (from.codePointAt(0) ?? 0))
      throw wrong("invalid character class range", `${from}-${typeof to === "string" ? to : ""}`);
    return between(from, to);
  }

  /** One end of a range, or a class of its own. */
  #end(start: number): string | Holds {
    const character = this.#character(`missing closing ]: \`${this.#pattern.slice(start)}\``);
    if (character !== "\\") return character;
    const [literal] = this.#match(/[^\w\s]/uy) ?? [];
    return literal ?? this.#escape();
  }

  #literal(character: string): Piece {
    return reading(this.#folded(exactly(character)));
  }

  #folded(holds: Holds): Holds {
    if (!this.#flags.ignoreCase) return holds;
    return (character) =>
      holds(character) || holds(character.toLowerCase()) || holds(character.toUpperCase());
  }

  /** The next character, a whole one beyond U+FFFF. */
  #character(atEnd = "unexpected end of expression"): string {
    const code = this.#pattern.codePointAt(this.#at);
    if (code === undefined) throw wrong(atEnd);
    const character = String.fromCodePoint(code);
    this.#at += character.length;
    return character;
  }

  #sees(character: string): boolean {
    return this.#pattern[this.#at] === character;
  }

  #take(character: string): boolean {
    if (!this.#sees(character)) return false;
    this.#at++;
    return true;
  }

  #match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at;
    const match = expression.exec(this.#pattern);
    if (match === null) return undefined;
    this.#at = expression.lastIndex;
    return match;
  }
}

function flagsOf(names: string, value: boolean): Partial<Flags> {
  const flags: Partial<Record<keyof Flags, boolean>> = {};
  for (const name of names) {
    const flag = flagNames[name];
    if (flag !== undefined) flags[flag] = value;
  }
  return flags;
}

function unicodeClass([text, letter, caret, long, , short]: RegExpExecArray): Holds {
  const name = long ?? short ?? "";
  let expression: RegExp;
  try {
    // One letter or two are a category, the rest are scripts.
    expression = new RegExp(name.length <= 2 ? `^\\p{${name}}$` : `^\\p{Script=${name}}$`, "u");
  } catch {
    throw wrong("invalid character class range", `\\${text}`);
  }
  const negated = (letter === "P") !== (caret === "^");
  return (character) => expression.test(character) !== negated;
}

function exactly(wanted: string): Holds {
  return (character) => character === wanted;
}

function between(from: string, to: string): Holds {
  const [least, most] = [from.codePointAt(0) ?? 0, to.codePointAt(0) ?? 0];
  return (character) => {
    const code = character.codePointAt(0) ?? -1;
    return code >= least && code <= most;
  };
}

function reading(holds: Holds): Piece {
  return (program, next) => added(program, { kind: "character", holds, next });
}

function at(position: Position): Piece {
  return (program, next) => added(program, { kind: "position", position, next });
}

function either(left: Piece, right: Piece): Piece {
  return (program, next) =>
    added(program, { kind: "fork", next: left(program, next), other: right(program, next) });
}

function repeated(piece: Piece, least: number, most: number): Piece {
  return (program, next) => {
    let after = next;
    if (most === Number.POSITIVE_INFINITY) {
      const fork: Step = { kind: "fork", next, other: next };
      after = added(program, fork);
      fork.next = piece(program, after);
    } else {
      for (let count = least; count < most; count++)
        after = added(program, { kind: "fork", next: piece(program, after), other: next });
    }
    for (let count = 0; count < least; count++) after = piece(program, after);
    return after;
  };
}

function added(program: Step[], step: Step): number {
  if (program.length >= mostSteps) throw wrong("expression too large");
  return program.push(step) - 1;
}

function wrong(problem: string, where?: string): ParseError {
  const text = where === undefined ? problem : `${problem}: \`${where}\``;
  return new ParseError("InvalidPattern", `error parsing regexp: ${text}`);
}
