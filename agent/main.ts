/** The entry of the agent's own bundle. */
import process from "node:process";
import { messageOf } from "./errors.ts";
import { runAgentProcess } from "./process.ts";

try {
  process.exit(await runAgentProcess(process.argv.slice(2), "node agent.mjs"));
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exit(1);
}
