/** Which story found which mutant: kept in `caught.json`, and shown as a table in docs/correctness.md. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Mutant } from "./mutant.ts";

export interface Caught {
  readonly name: string;
  /** Of the observer; empty where no story found it. */
  readonly check: string;
  /** What it said. */
  readonly text: string;
  /** Told until then, the one that found it included. */
  readonly stories: number;
  /** Of the story that found it, or of the first one. */
  readonly seed: number;
  /** By the wall clock of a machine that did other things, too. */
  readonly seconds: number;
}

const file = join(import.meta.dirname, "caught.json");

/** Empty while nothing was recorded. */
export function allCaught(): readonly Caught[] {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];
}

/** In place of what was recorded of the same mutant. */
export function record(caught: Caught): void {
  const others = allCaught().filter(({ name }) => name !== caught.name);
  const sorted = [...others, caught].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  writeFileSync(file, `${JSON.stringify(sorted, undefined, 2)}\n`);
}

/** Lines of Markdown. */
export function table(mutants: readonly Mutant[], caught: readonly Caught[]): string {
  const rows = mutants.map(({ name, survives }) => {
    const found = caught.find((each) => each.name === name);
    if (found === undefined) return `| ${name} | ${survives ?? "not tried yet"} | | |`;
    if (found.check === "") return `| ${name} | ${survives ?? "nothing yet"} | ${found.stories} | |`;
    return `| ${name} | ${found.check} | ${found.stories} | ${found.seconds} |`;
  });
  return ["| broken on purpose | caught by | stories | seconds |", "|---|---|---|---|", ...rows].join("\n");
}
