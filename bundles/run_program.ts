/** Programs that builds call: silent unless they fail. */
import { spawnSync } from "node:child_process";
import { BundleError } from "./errors.ts";

export interface ProgramOptions {
  /** Working folder. */
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Resolves to what it printed. Throws BundleError with the last lines it said when it fails. */
export function runProgram(program: string, argv: readonly string[], options: ProgramOptions = {}): string {
  const { status, signal, stdout, stderr, error } = spawnSync(program, argv, {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "pipe"],
    ...options,
  });
  if (status === 0) return stdout;
  const lines = `${stdout ?? ""}${stderr ?? ""}`.split("\n").filter((line) => line.trim() !== "");
  const said = lines.slice(-3).join("; ");
  const why = error?.message ?? `ended with ${signal ?? `code ${status}`}${said === "" ? "" : `: ${said}`}`;
  throw new BundleError(`${program} ${argv.join(" ")}: ${why}`);
}
