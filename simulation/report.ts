/** What happened and what went wrong, as a story for people. */

import type { Act } from "./act.ts";
import type { Run } from "./run.ts";
import type { Story } from "./story.ts";

/** Lines of the trace before the violation. */
const lastWrites = 25;

export function report(story: Story, run: Run): string {
  const { seed, replicas, shards, nodes, steps } = story;
  const cast = `${replicas} replicas with ${shards} shards, ${nodes} nodes`;
  return [
    `Seed ${seed}: ${cast}`,
    "",
    "What happened:",
    ...steps.map(({ at, do: act }) => `  ${seconds(at)}  ${told(act)}`),
    "",
    "The last writes:",
    ...run.trace
      .filter((line) => !/ (events|leases\S*) /.test(line) && !line.includes(" story "))
      .slice(-lastWrites)
      .map((line) => {
        const [at, ...words] = line.split(" ");
        return `  ${seconds(Number(at))}  ${words.join(" ")}`;
      }),
    "",
    ...outcome(run),
  ].join("\n");
}

function outcome({ violations, simulatedMs }: Run): string[] {
  if (violations.length === 0)
    return [`Nothing went wrong: the cluster is at rest after ${seconds(simulatedMs).trim()}.`];
  return ["What must not be:", ...violations.map(({ at, text }) => `  ${seconds(at)}  ${text}`)];
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3).padStart(9)} s`;
}

function told({ act, ...details }: Act): string {
  const text = Object.entries(details).map(([name, value]) =>
    typeof value === "string" ? value : `${name} ${JSON.stringify(value)}`,
  );
  return `${act}: ${text.join(", ")}`;
}
