/** The agent's flags as help, completion and the manual page list them; the agent reads them itself. */
import { agentFlags } from "../../agent/index.ts";
import { type FlagTable, switchFlag, textFlag } from "../arguments.ts";

export const agentFlagTable: FlagTable = Object.fromEntries(
  Object.entries(agentFlags).map(([name, { initial, value, help }]) => [
    name,
    value === "" ? switchFlag(help, { default: initial }) : textFlag(value, help, { default: initial }),
  ]),
);
