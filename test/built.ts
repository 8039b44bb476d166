/** The programs as they ship. */
import { existsSync } from "node:fs";
import { join } from "node:path";

const entries = { refit: "refit.mjs", agent: "agent.mjs" } as const;
const scripts = { refit: "build", agent: "build:agent" } as const;

/** The entry of a built program; throws when it was not built. */
export function builtProgram(name: keyof typeof entries): string {
  const entry = join(import.meta.dirname, "..", "dist", entries[name]);
  if (!existsSync(entry)) throw new Error(`${entry} is not there: run npm run ${scripts[name]}`);
  return entry;
}
