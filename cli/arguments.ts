/** Command line words into flags and arguments: node:util tokenizes, this file decides what they mean. */
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { CliError } from "./errors.ts";
import { nearest } from "./suggest.ts";

export interface Flag {
  /** A switch takes no value, or `=true` / `=false`. */
  readonly kind: "switch" | "text";
  readonly short?: string;
  /** Text of the default; absent means "not given". */
  readonly default?: string;
  /** Given several times, all values count. */
  readonly repeated?: boolean;
  /** A text flag without `=value` means this value, and never eats the next word (`--dry-run`). */
  readonly bare?: string;
  /** How the help calls the value. */
  readonly value?: string;
  readonly help: string;
}

export type FlagTable = Readonly<Record<string, Flag>>;

type FlagOptions = Omit<Flag, "kind" | "value" | "help">;

/** `value`: how the help calls it. */
export function textFlag(value: string, help: string, options: FlagOptions = {}): Flag {
  return { kind: "text", value, help, ...options };
}

export function switchFlag(help: string, options: FlagOptions = {}): Flag {
  return { kind: "switch", help, ...options };
}

/** Values of a table's flags. Asking for a flag that the table lacks is a programming error and throws. */
export class Flags {
  readonly #table: FlagTable;
  readonly #given: ReadonlyMap<string, readonly string[]>;

  constructor(table: FlagTable, given: ReadonlyMap<string, readonly string[]>) {
    this.#table = table;
    this.#given = given;
  }

  #flag(name: string): Flag {
    const flag = this.#table[name];
    if (flag === undefined) throw new Error(`flag --${name} is not in the table of its command`);
    return flag;
  }

  given(name: string): boolean {
    this.#flag(name);
    return this.#given.has(name);
  }

  /** The last value given, else the default. */
  text(name: string): string | undefined {
    const flag = this.#flag(name);
    return this.#given.get(name)?.at(-1) ?? flag.default;
  }

  required(name: string): string {
    const value = this.text(name);
    if (value === undefined || value === "") throw new CliError(`required flag --${name} is not set`);
    return value;
  }

  on(name: string): boolean {
    return this.text(name) === "true";
  }

  /** All values, those with commas split. */
  list(name: string): string[] {
    this.#flag(name);
    const values = this.#given.get(name) ?? [];
    return values.flatMap((value) => value.split(",")).filter((value) => value !== "");
  }

  /** All values as given, commas kept. */
  all(name: string): readonly string[] {
    this.#flag(name);
    return this.#given.get(name) ?? [];
  }

  integer(name: string, least = 0, most = Number.MAX_SAFE_INTEGER): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least && value <= most)) {
      const range = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `${least} to ${most}`;
      throw new CliError(`invalid value "${text}" for --${name}: must be a whole number, ${range}`);
    }
    return value;
  }

  /** Milliseconds of a Go duration: `15s`, `1m30s`, `500ms`, `0`. */
  milliseconds(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = parseDuration(text);
    if (value === undefined) {
      throw new CliError(
        `invalid value "${text}" for --${name}: must be a duration such as 15s, 2m or 500ms`,
      );
    }
    return value;
  }
}

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds, or undefined when the text is not a Go duration; a bare number counts seconds, as in kubectl. */
export function parseDuration(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount = "0", , unit = ""] of text.matchAll(/(\d+(\.\d+)?)(ns|us|µs|ms|s|m|h)/g)) {
    total += Number(amount) * (unitMs[unit] ?? 0);
  }
  return total;
}

export interface Parsed {
  readonly flags: Flags;
  readonly words: readonly string[];
  /** What follows `--`; undefined without one. */
  readonly rest: readonly string[] | undefined;
}

/** Parses the words after a command's name. Throws CliError for an unknown flag or a bad value. */
export function parseArguments(argv: readonly string[], table: FlagTable, command: string): Parsed {
  const separator = argv.indexOf("--");
  const own = separator < 0 ? argv : argv.slice(0, separator);
  const options: ParseArgsOptionsConfig = {};
  for (const [name, flag] of Object.entries(table)) {
    const type = flag.kind === "switch" || flag.bare !== undefined ? "boolean" : "string";
    options[name] = flag.short === undefined ? { type } : { type, short: flag.short };
  }
  const { tokens } = parseArgs({
    args: own.map((word) => longForm(word, table)),
    options,
    strict: false,
    tokens: true,
    allowPositionals: true,
  });
  const given = new Map<string, string[]>();
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const flag = table[token.name];
    if (flag === undefined) throw unknownFlag(token.rawName, table, command);
    const value = readValue(flag, token.rawName, token.value);
    const values = given.get(token.name);
    if (values === undefined) given.set(token.name, [value]);
    else values.push(value);
  }
  return {
    flags: new Flags(table, given),
    words,
    rest: separator < 0 ? undefined : argv.slice(separator + 1),
  };
}

/** `-o=json` becomes `--output=json`: parseArgs would read the sign as part of the value. */
function longForm(word: string, table: FlagTable): string {
  const [, short, value] = /^-([A-Za-z])=(.*)$/s.exec(word) ?? [];
  if (short === undefined) return word;
  const name = Object.keys(table).find((candidate) => table[candidate]?.short === short);
  return name === undefined ? word : `--${name}=${value}`;
}

function readValue(flag: Flag, rawName: string, value: string | undefined): string {
  if (flag.kind === "text") {
    const text = value ?? flag.bare;
    if (text === undefined) throw new CliError(`flag ${rawName} needs a value`);
    return text;
  }
  if (value === undefined || /^(true|t|1)$/i.test(value)) return "true";
  if (/^(false|f|0)$/i.test(value)) return "false";
  throw new CliError(`invalid value "${value}" for ${rawName}: must be true or false`);
}

function unknownFlag(rawName: string, table: FlagTable, command: string): CliError {
  const near = rawName.startsWith("--") ? nearest(rawName.slice(2), Object.keys(table)) : undefined;
  const hint = near === undefined ? `see "${command} --help"` : `did you mean --${near}?`;
  return new CliError(`unknown flag ${rawName} for "${command}"; ${hint}`);
}
