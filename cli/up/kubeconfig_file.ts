/** The kubeconfig that a sandbox leaves for kubectl while it runs: one file a sandbox, gone with it. */
import { readFile, unlink } from "node:fs/promises";
import { resolve } from "node:path";
import { CliError } from "../errors.ts";
import { createPrivateFile, writePrivateFile } from "./private_file.ts";

export interface KubeconfigFile {
  readonly path: string;
  write(kubeconfig: string): Promise<void>;
  /** Removes it, unless it is another's by now. */
  remove(): Promise<void>;
}

export interface ClaimOptions {
  /** Where somebody wants it; undefined: at `usualPath`, or beside it where another sandbox has that. */
  readonly wanted: string | undefined;
  readonly usualPath: string;
  readonly pid: number;
  isRunning(pid: number): boolean;
}

const mostSandboxes = 100;

/**
 * Takes a path for a sandbox that is about to start; what one left behind that could not end properly is taken over.
 * Throws CliError when the file that was asked for belongs to a running sandbox or is something else.
 */
export async function claimKubeconfig(options: ClaimOptions): Promise<KubeconfigFile> {
  const { wanted, usualPath } = options;
  for (let number = 1; number <= mostSandboxes; number++) {
    const path = resolve(wanted ?? (number === 1 ? usualPath : `${usualPath}-${number}`));
    const refusal = await claim(path, options);
    if (refusal === undefined) return kubeconfigFile(path, options.pid);
    if (wanted !== undefined)
      throw new CliError(`${path} ${refusal}; choose another place with --kubeconfig-out`);
  }
  throw new CliError(
    `${resolve(usualPath)} and ${mostSandboxes - 1} files beside it are taken; choose another place with --kubeconfig-out`,
  );
}

/** Undefined when the path is ours now, else why it is not. */
async function claim(path: string, { pid, isRunning }: ClaimOptions): Promise<string | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text !== undefined) {
    const owner = ownerOf(text);
    if (owner !== undefined && isRunning(owner))
      return `is the kubeconfig of a sandbox that runs (process ${owner})`;
    if (owner === undefined && text !== "") return "is not the kubeconfig of a sandbox";
    await unlink(path).catch(() => undefined);
  }
  return (await createPrivateFile(path, header(pid))) ? undefined : "was taken by another sandbox just now";
}

function kubeconfigFile(path: string, pid: number): KubeconfigFile {
  return {
    path,
    async write(kubeconfig) {
      await writePrivateFile(path, `${header(pid)}${kubeconfig}`);
    },
    async remove() {
      const text = await readFile(path, "utf8").catch(() => "");
      if (ownerOf(text) === pid) await unlink(path).catch(() => undefined);
    },
  };
}

function header(pid: number): string {
  return `# The sandbox of "refit up", process ${pid}; removed when it ends.\n`;
}

function ownerOf(text: string): number | undefined {
  const [, pid] = /^# The sandbox of "refit up", process (\d{1,10});/.exec(text) ?? [];
  return pid === undefined ? undefined : Number(pid);
}

/** Whether there is a process with this number. */
export function processRuns(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It runs as another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
