/** Files that hold credentials: the kubeconfig that the try-out leaves for kubectl. */
import { mkdir, open, rename, unlink } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { CliError } from "../errors.ts";
import { fileReason } from "../file_reason.ts";

/** Writes a file that only its owner reads, whole or not at all. Throws CliError with the path. */
export async function writePrivateFile(path: string, text: string): Promise<string> {
  const target = resolve(path);
  const draft = `${target}.${process.pid}.tmp`;
  try {
    await writeNew(draft, text);
    await rename(draft, target);
    return target;
  } catch (error) {
    await unlink(draft).catch(() => undefined);
    throw unwritable(target, error);
  }
}

/** The same where there is no file yet; false where there is one. */
export async function createPrivateFile(path: string, text: string): Promise<boolean> {
  const target = resolve(path);
  try {
    await writeNew(target, text);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw unwritable(target, error);
  }
}

async function writeNew(target: string, text: string): Promise<void> {
  await makeFolder(dirname(target));
  const file = await open(target, "wx", 0o600);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}

function unwritable(target: string, error: unknown): CliError {
  const message = `cannot write ${target}: ${reasonOf(error)}; choose another place with --kubeconfig-out`;
  return new CliError(message, { cause: error });
}

/** Not `recursive`: that one never ends where a file system answers ENOENT to every attempt, as /proc does. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await mkdir(path, { mode: 0o700 });
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code === "ENOTDIR" || code === "EEXIST") return "a file is in the way of its folder";
  return fileReason(error);
}
