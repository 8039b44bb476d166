/**
 * What a Containerfile of ours adds to its base. The files are the only home of that: container engines read them, and so
 * does what makes images without one. Only what they use is understood; anything else is an error, never passed over.
 */
import { BundleError } from "./errors.ts";

export interface Recipe {
  /** The base that the file names, after its arguments. */
  readonly base: string;
  readonly copies: readonly Copy[];
  /** `uid:gid`. */
  readonly user: string;
  readonly environment: ReadonlyMap<string, string>;
  readonly labels: ReadonlyMap<string, string>;
  /** Undefined where the file takes the base's away. */
  readonly entrypoint: readonly string[] | undefined;
  readonly command: readonly string[];
}

export interface Copy {
  /** In the context; a folder where it ends with a slash. */
  readonly source: string;
  /** Absolute in the image; a folder where the source is one. */
  readonly target: string;
  readonly uid: number;
  readonly gid: number;
}

interface Instruction {
  readonly name: string;
  readonly rest: string;
  /** For errors: `file:line`. */
  readonly place: string;
}

/** `given`: values for the file's `ARG`s. Throws BundleError that names file and line. */
export function readContainerfile(file: string, text: string, given: ReadonlyMap<string, string>): Recipe {
  const values = new Map<string, string>();
  const copies: Copy[] = [];
  const environment = new Map<string, string>();
  const labels = new Map<string, string>();
  const last = new Map<string, Instruction>();
  for (const instruction of instructionsOf(file, text)) {
    const { name } = instruction;
    last.set(name, instruction);
    if (name === "ARG") declare(instruction, given, values);
    else if (name === "COPY") copies.push(copyOf(instruction));
    else if (name === "ENV") environment.set(...pairOf(instruction, values));
    else if (name === "LABEL") setLabel(labels, pairOf(instruction, values));
    else if (!["FROM", "USER", "ENTRYPOINT", "CMD"].includes(name))
      throw misread(instruction, `${name} is not among the instructions that are read here`);
  }
  const only = (name: string): Instruction => {
    const found = last.get(name);
    if (found === undefined) throw new BundleError(`${file}: has no ${name}`);
    return found;
  };
  const entrypoint = wordsOf(only("ENTRYPOINT"));
  return {
    base: substituted(only("FROM"), only("FROM").rest, values),
    copies,
    user: only("USER").rest,
    environment,
    labels,
    entrypoint: entrypoint.length === 0 ? undefined : entrypoint,
    command: wordsOf(only("CMD")),
  };
}

function instructionsOf(file: string, text: string): Instruction[] {
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "" || line.startsWith("#")) return [];
    const space = line.indexOf(" ");
    const place = `${file}:${index + 1}`;
    if (space < 0) throw new BundleError(`${place}: an instruction without arguments`);
    return [{ name: line.slice(0, space), rest: line.slice(space).trim(), place }];
  });
}

function declare(
  instruction: Instruction,
  given: ReadonlyMap<string, string>,
  values: Map<string, string>,
): void {
  const [name = "", ...value] = instruction.rest.split("=");
  values.set(name, given.get(name) ?? value.join("="));
}

/** A label whose value is empty says nothing: it is left out. */
function setLabel(labels: Map<string, string>, [name, value]: readonly [string, string]): void {
  if (value !== "") labels.set(name, value);
}

function pairOf(instruction: Instruction, values: ReadonlyMap<string, string>): [string, string] {
  const sign = instruction.rest.indexOf("=");
  if (sign < 1) throw misread(instruction, "NAME=VALUE is expected");
  const written = instruction.rest.slice(sign + 1);
  const value =
    written.length > 1 && written.startsWith('"') && written.endsWith('"') ? written.slice(1, -1) : written;
  return [instruction.rest.slice(0, sign), substituted(instruction, value, values)];
}

function substituted(instruction: Instruction, text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\$\{(\w+)\}/g, (_whole, name: string) => {
    const value = values.get(name);
    if (value === undefined) throw misread(instruction, `\${${name}} has no ARG`);
    return value;
  });
}

function copyOf(instruction: Instruction): Copy {
  const [, uid, gid, source, target] =
    /^--chown=(\d{1,9}):(\d{1,9}) (\S+) (\/\S+)$/.exec(instruction.rest) ?? [];
  if (source === undefined || target === undefined)
    throw misread(instruction, "COPY --chown=UID:GID SOURCE /TARGET is expected");
  return { source, target, uid: Number(uid), gid: Number(gid) };
}

function wordsOf(instruction: Instruction): string[] {
  let words: unknown;
  try {
    words = JSON.parse(instruction.rest);
  } catch {
    words = undefined;
  }
  if (Array.isArray(words) && words.every((word) => typeof word === "string")) return words;
  throw misread(instruction, `${instruction.name} ["program", "argument"] is expected`);
}

function misread({ place }: Instruction, problem: string): BundleError {
  return new BundleError(`${place}: ${problem}`);
}
