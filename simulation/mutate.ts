/** Breaks the product for a run: a mutant replaces one piece of one file as it is loaded. */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Mutant } from "./mutant.ts";
import { mutants } from "./mutants.ts";

const root = new URL("../", import.meta.url);

/** For all that is imported from now on. Throws for a name that is none. */
export function mutate(name: string): void {
  const mutant = mutants.find((each) => each.name === name);
  if (mutant === undefined) throw new Error(`there is no mutant ${JSON.stringify(name)}`);
  const url = pathToFileURL(fileURLToPath(new URL(mutant.file, root))).href;
  const source = mutated(mutant);
  registerHooks({
    load: (loaded, context, next) =>
      loaded === url ? { format: "module-typescript", source, shortCircuit: true } : next(loaded, context),
  });
}

/** The file as it is with the mutant. Throws where its piece is not there exactly once. */
export function mutated({ name, file, from, to }: Mutant): string {
  const text = readFileSync(new URL(file, root), "utf8");
  const pieces = text.split(from);
  if (pieces.length !== 2)
    throw new Error(`mutant ${name}: ${file} has its piece ${pieces.length - 1} times, not once`);
  return pieces.join(to);
}
