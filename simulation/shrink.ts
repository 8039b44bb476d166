/** The shortest story that still goes wrong: steps are left out, half of them first, then less and less. */
import { type Run, run } from "./run.ts";
import type { Step, Story } from "./story.ts";

export interface Shrunk {
  readonly story: Story;
  readonly run: Run;
}

/** `failing` is what came of `story`. Tells no more than `tries` stories. */
export async function shrink(story: Story, failing: Run, tries: number): Promise<Shrunk> {
  let best: Shrunk = { story, run: failing };
  let size = Math.ceil(story.steps.length / 2);
  let left = tries;
  while (size >= 1 && left > 0) {
    const shorter = await without(best.story, size, () => left-- > 0);
    if (shorter !== undefined) best = shorter;
    else if (size === 1) break;
    size =
      shorter === undefined ? Math.ceil(size / 2) : Math.min(size, Math.ceil(best.story.steps.length / 2));
  }
  return best;
}

async function without(story: Story, size: number, mayTry: () => boolean): Promise<Shrunk | undefined> {
  for (let from = 0; from < story.steps.length && mayTry(); from += size) {
    const steps: Step[] = story.steps.filter((_, index) => index < from || index >= from + size);
    if (steps.length === 0) continue;
    const shorter = { ...story, steps };
    const result = await run(shorter);
    if (result.violations.length > 0) return { story: shorter, run: result };
  }
  return undefined;
}
