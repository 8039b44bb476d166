/** The real helm, where this machine has it. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { missing, programPath } from "./program_path.ts";

const runFile = promisify(execFile);

const helmPath = programPath("helm");

/** Why tests with helm are skipped, or false. */
export const helmMissing = missing("helm");

export interface HelmRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `home` holds what helm keeps between calls. */
export async function helm(home: string, ...args: readonly string[]): Promise<HelmRun> {
  if (helmPath === undefined) throw new Error(String(helmMissing));
  const env = { ...process.env, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };
  try {
    const options = { env, maxBuffer: 64 * 1024 * 1024 };
    return { code: 0, ...(await runFile(helmPath, [...args], options)) };
  } catch (error) {
    if (!(error instanceof Error && "stdout" in error && "stderr" in error && "code" in error)) throw error;
    return { code: Number(error.code), stdout: String(error.stdout), stderr: String(error.stderr) };
  }
}
