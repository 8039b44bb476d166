import type { Call } from "../command.ts";
import { CliError } from "../errors.ts";
import { type Finding, findingsOf, restartCount } from "./findings.ts";
import { readFacts } from "./read_facts.ts";

/** Resolves to 1 when something is in the way. */
export async function runMigrateCheck(call: Call): Promise<number> {
  const format = call.flags.text("output") ?? "";
  if (format !== "" && format !== "json")
    throw new CliError(`invalid value "${format}" for --output: must be json`);
  const facts = await readFacts(call, await call.cluster());
  const findings = findingsOf(facts);
  const restarts = restartCount(facts);
  if (format === "json") call.print(JSON.stringify({ restarts, findings, facts }, undefined, 2));
  else printFindings(call, findings, restarts);
  return findings.some(({ inTheWay }) => inTheWay) ? 1 : 0;
}

function printFindings(call: Call, findings: readonly Finding[], restarts: number): void {
  for (const { inTheWay, message } of findings) if (!inTheWay) call.print(message);
  call.print(`Pods that would be deleted or restarted: ${restarts}`);
  printObstacles(call, findings);
}

/** Returns the findings that are in the way. */
export function printObstacles(call: Call, findings: readonly Finding[]): readonly Finding[] {
  const obstacles = findings.filter(({ inTheWay }) => inTheWay);
  call.print(obstacles.length === 0 ? "Nothing is in the way." : `In the way: ${obstacles.length}`);
  for (const { message } of obstacles) call.print(`  ${call.paint("yellow", message)}`);
  return obstacles;
}
