import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { mutants } from "./mutants.ts";
import { mutated } from "./mutate.ts";
import { run } from "./run.ts";
import { type Story, storyOf } from "./story.ts";

const regressions = join(import.meta.dirname, "regressions");

t.test("stories that went wrong once end well", async (t) => {
  for (const file of readdirSync(regressions)) {
    const story: Story = JSON.parse(readFileSync(join(regressions, file), "utf8"));
    const { violations } = await run(story);
    t.same(violations, [], file);
  }
});

t.test("stories end well, and the same seed tells the same one", async (t) => {
  for (let seed = 1; seed <= 6; seed++) {
    const first = await run(storyOf(seed));
    t.same(first.violations, [], `seed ${seed}`);
    t.ok(first.writes > 0, `seed ${seed}: controllers write`);
    if (seed > 3) continue;
    const second = await run(storyOf(seed));
    t.equal(second.digest, first.digest, `seed ${seed}: ${first.trace.length} writes in the same order`);
  }
});

t.test("each mutant changes one piece of the sources", async (t) => {
  for (const mutant of mutants) t.doesNotThrow(() => mutated(mutant), mutant.name);
  t.equal(new Set(mutants.map(({ name }) => name)).size, mutants.length, "names are unique");
});
