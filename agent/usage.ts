/** What `--help` of the agent says. */
import { agentFlags, agentGates, flagsWithoutEffect } from "./settings.ts";

export function agentUsage(): string {
  const heads = Object.entries(agentFlags).map(([name, { value }]) => `--${name}${value && `=${value}`}`);
  const width = Math.max(...heads.map((head) => head.length));
  const flags = Object.values(agentFlags).map(({ initial, help }, index) => {
    const ending = initial === "" ? "" : ` Default ${initial}.`;
    return `  ${(heads[index] ?? "").padEnd(width)}  ${help}${ending}`;
  });
  const gates = Object.entries(agentGates("")).map(([name, isOn]) => `  ${name}=${isOn}`);
  return `The agent of one node: swaps, restarts, image pulls and probes of its containers.

Usage: NODE_NAME=NODE node agent.mjs [flags]   (deno run agent.mjs, too)

Flags:
${flags.join("\n")}

Feature gates (--feature-gates), with their defaults:
${gates.join("\n")}

Accepted without effect: ${Object.keys(flagsWithoutEffect)
    .map((name) => `--${name}`)
    .join(", ")}.
Environment: NODE_NAME, the name of the node; needed.
`;
}
