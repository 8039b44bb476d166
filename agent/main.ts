/** The entry of the agent's own bundle. */
import process from "node:process";
import { messageOf } from "./errors.ts";
import { runAgentProcess } from "./process.ts";

// Not awaited here: what the bundle holds behind this file, modules that are loaded late, would never be reached.
runAgentProcess(process.argv.slice(2), "node agent.mjs").then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exit(1);
  },
);
