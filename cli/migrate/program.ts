/** Tells this program's Deployment and DaemonSet from the ones that they replace: the names are the same. */
import { type AnyObject, listAt } from "../fields.ts";
import { agentCommand, refitProgram } from "../install/index.ts";

const programs = new Set<unknown>([refitProgram.at(-1), agentCommand("node").at(-1)]);

export function runsRefit(workload: AnyObject): boolean {
  const containers = listAt(workload, "spec", "template", "spec", "containers");
  return containers.some((container) => listAt(container, "command").some((word) => programs.has(word)));
}
