/** `npm run small-worlds`: explores every small world whole, and prints how many states it has. */
import { parseArgs } from "node:util";
import { exploreAwaiting } from "../../testkit/small_worlds/explore.ts";
import { smallWorlds } from "../../testkit/small_worlds/scenarios.ts";

const usage = `Usage: npm run small-worlds -- [flags]

Looks at every state that a rollout can come into, in whatever order the controller, the server, nodes and people act. Ends with 1
where something went wrong.

  --pods N        of each workload; of a cron job, how often the clock goes on (default 2)
  --mishaps N     crashes, refusals, deletions and deaths of the controller on one way (default 1)
  --only TEXT     worlds with this in their name`;

const { values } = parseArgs({
  options: {
    pods: { type: "string", default: "2" },
    mishaps: { type: "string", default: "1" },
    only: { type: "string", default: "" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) console.log(usage);
else process.exitCode = await exploreAll(Number(values.pods), Number(values.mishaps), values.only);

async function exploreAll(pods: number, mishaps: number, only: string): Promise<number> {
  console.log("| world | states | moves | ends |\n|---|---|---|---|");
  let failed = 0;
  for (const { name, world } of smallWorlds(pods, mishaps)) {
    if (!name.includes(only)) continue;
    try {
      const { states, moves, ends } = await exploreAwaiting(world);
      console.log(`| ${name} | ${states} | ${moves} | ${ends} |`);
    } catch (error) {
      failed++;
      console.log(`| ${name} | ${error instanceof Error ? error.message : error} | | |`);
    }
  }
  return failed === 0 ? 0 : 1;
}
