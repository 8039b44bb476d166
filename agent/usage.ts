/** What `--help` of the agent says. */
import { agentFlags, agentGates, flagsWithoutEffect } from "./settings.ts";

/** `program`: what the flags are typed after. */
export function agentUsage(program: string): string {
  const heads = Object.entries(agentFlags).map(([name, { value }]) => `--${name}${value && `=${value}`}`);
  const width = Math.max(...heads.map((head) => head.length));
  const flags = Object.values(agentFlags).map(({ initial, help }, index) => {
    const ending = initial === "" ? "" : ` Default ${initial}.`;
    return `  ${(heads[index] ?? "").padEnd(width)}  ${help}${ending}`;
  });
  return `The agent of one node: swaps, restarts, image pulls and probes of its containers.

Usage: NODE_NAME=NODE ${program} [flags]

Flags:
${flags.join("\n")}

${agentNotes()}`;
}

/** What the help says after the flags. */
export function agentNotes(): string {
  const gates = Object.entries(agentGates("")).map(([name, isOn]) => `  ${name}=${isOn}`);
  return `Feature gates (--feature-gates), with their defaults:
${gates.join("\n")}

Accepted without effect: ${Object.keys(flagsWithoutEffect)
    .map((name) => `--${name}`)
    .join(", ")}.
Environment: NODE_NAME, the name of the node; needed.
`;
}
