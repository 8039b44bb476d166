/** A process that tells stories: gets seeds, answers with what came of them. */
import { mutate } from "./mutate.ts";
import type { Run } from "./run.ts";
import type { Story } from "./story.ts";

export interface Task {
  readonly seed: number;
}

export interface Told {
  readonly seed: number;
  readonly simulatedMs: number;
  readonly writes: number;
  readonly steps: number;
  /** Where it went wrong: the shortest story that does. */
  readonly failure?: { readonly story: Story; readonly run: Run };
}

/** Stories that may be told to find the shortest one. */
const shrinkingTries = 60;

const mutant = process.argv[2];
if (mutant !== undefined && mutant !== "") mutate(mutant);
// What may be mutated is imported after that.
const { run } = await import("./run.ts");
const { shrink } = await import("./shrink.ts");
const { storyOf } = await import("./story.ts");

process.on("message", ({ seed }: Task) => {
  tell(seed).then(
    (told) => process.send?.(told),
    (error: unknown) => {
      console.error(`seed ${seed}:`, error);
      process.exit(1);
    },
  );
});
process.on("disconnect", () => process.exit(0));
process.send?.("ready");

async function tell(seed: number): Promise<Told> {
  const story = storyOf(seed);
  const first = await run(story);
  const told = { seed, simulatedMs: first.simulatedMs, writes: first.writes, steps: story.steps.length };
  if (first.violations.length === 0) return told;
  const failure = await shrink(story, first, mutant ? 0 : shrinkingTries);
  return { ...told, failure };
}
