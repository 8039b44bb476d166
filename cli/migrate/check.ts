import { kinds } from "../../crds/index.ts";
import { counted } from "../../kube/core/index.ts";
import type { Call } from "../command.ts";
import { CliError } from "../errors.ts";
import { sentenceWidth } from "../io.ts";
import { textTable, wrapped } from "../text_table.ts";
import type { Definition, MigrationFacts } from "./facts.ts";
import { type Finding, findingsOf, restartCount } from "./findings.ts";
import { readFacts } from "./read_facts.ts";

/** Resolves to 1 when something is in the way. */
export async function runMigrateCheck(call: Call): Promise<number> {
  const format = call.flags.text("output") ?? "";
  if (format !== "" && format !== "json")
    throw new CliError(`invalid value "${format}" for --output: must be json`);
  const facts = await readFacts(call, await call.cluster());
  const findings = findingsOf(facts);
  if (format === "json")
    call.print(JSON.stringify({ restarts: restartCount(facts), findings, facts }, undefined, 2));
  else printFindings(call, findings, facts);
  return findings.some(({ inTheWay }) => inTheWay) ? 1 : 0;
}

/** What is in the way comes first: it is what somebody has to do something about. */
function printFindings(call: Call, findings: readonly Finding[], facts: MigrationFacts): void {
  printObstacles(call, findings);
  call.print(`Pods that would be deleted or restarted: ${restartCount(facts)}`);
  const notes = findings.filter(({ inTheWay }) => !inTheWay);
  if (notes.length > 0) call.print("Good to know:");
  for (const { message } of notes)
    for (const [number, line] of linesOf(call, message).entries())
      call.print(`  ${number === 0 ? "" : "  "}${line}`);
  for (const line of definitionsTable(facts)) call.print(line);
}

const linesOf = ({ io }: Call, message: string): string[] => wrapped(message, sentenceWidth(io) - 4);

/** Of those that have objects: the others have nothing that could change. */
function definitionsTable({ definitions, objects }: MigrationFacts): string[] {
  const countOf = ({ name }: Definition): number => {
    const known = kinds.find(({ plural, group }) => `${plural}.${group}` === name);
    return objects[known?.kind ?? ""] ?? 0;
  };
  const used = definitions.filter((definition) => countOf(definition) > 0);
  const rows = used.map((definition) => [
    definition.name,
    String(countOf(definition)),
    definition.served.join(","),
    definition.stored.join(","),
  ]);
  const others = definitions.length - used.length;
  return [
    ...(rows.length === 0 ? [] : textTable(["DEFINITION", "OBJECTS", "SERVED", "STORED"], rows)),
    ...(others === 0 ? [] : [`Without objects: ${counted(others, "definition")}.`]),
  ];
}

/** Returns the findings that are in the way. */
export function printObstacles(call: Call, findings: readonly Finding[]): readonly Finding[] {
  const obstacles = findings.filter(({ inTheWay }) => inTheWay);
  call.print(obstacles.length === 0 ? "Nothing is in the way." : `In the way: ${obstacles.length}`);
  for (const { message } of obstacles) call.print(`  ${call.paint("yellow", message)}`);
  return obstacles;
}
