/** The real helm, where this machine has it. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const runFile = promisify(execFile);

/** Programs that .ci/run builds for tests are here; the PATH goes before it. */
const builtFolder = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "refit", "bin");

/** Path of a program, or undefined. */
export function programPath(name: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), builtFolder];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

const helmPath = programPath("helm");

/** Why tests with helm are skipped, or false. */
export const helmMissing: string | false =
  helmPath === undefined ? "there is no helm on the PATH, and .ci/run has built none" : false;

export interface HelmRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `home` holds what helm keeps between calls. */
export async function helm(home: string, ...args: readonly string[]): Promise<HelmRun> {
  if (helmPath === undefined) throw new Error("helm is missing");
  const env = { ...process.env, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };
  try {
    const options = { env, maxBuffer: 64 * 1024 * 1024 };
    return { code: 0, ...(await runFile(helmPath, [...args], options)) };
  } catch (error) {
    if (!(error instanceof Error && "stdout" in error && "stderr" in error && "code" in error)) throw error;
    return { code: Number(error.code), stdout: String(error.stdout), stderr: String(error.stderr) };
  }
}
