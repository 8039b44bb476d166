/**
 * Directories and files for keys: only we may have put there what is read, and nobody else may read what is written. Whoever
 * can plant an authority answers in our name.
 */
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, realpath, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { KubeError } from "./errors.ts";

export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** Undefined where files have no owners. */
export function ownIdentity(): Identity | undefined {
  const [uid, gid] = [process.geteuid?.(), process.getegid?.()];
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}

const othersMayWrite = 0o002;
const groupMayWrite = 0o020;
const sticky = 0o1000;
const largestFile = 1024 * 1024;

/**
 * Makes the directory if it is missing, for us alone, and resolves to where files go. That is the directory itself, or one of
 * our own in it where it is root's and everybody may write to it, as volumes of pods are. Throws KubeError `Config` when
 * somebody else could change what it holds.
 */
export async function privateDirectory(path: string, self = ownIdentity()): Promise<string> {
  const directory = resolve(path);
  if (self === undefined) {
    await mkdir(directory, { recursive: true });
    return directory;
  }
  await checkParents(directory, self);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const status = await lstat(directory);
  if (status.isDirectory() && status.uid === 0 && self.uid !== 0 && (status.mode & othersMayWrite) !== 0) {
    const own = join(directory, `refit-${self.uid}`);
    await mkdir(own, { recursive: true, mode: 0o700 });
    await checkDirectory(own, self);
    return own;
  }
  await checkDirectory(directory, self);
  return directory;
}

async function checkDirectory(path: string, { uid }: Identity): Promise<void> {
  const status = await lstat(path);
  if (status.isSymbolicLink()) throw refused(path, "it is a symbolic link");
  if (!status.isDirectory()) throw refused(path, "it is no directory");
  if (status.uid !== uid) throw refused(path, `it belongs to uid ${status.uid}, this process is uid ${uid}`);
  if ((status.mode & (groupMayWrite | othersMayWrite)) !== 0)
    throw refused(path, `others may write to it (mode ${modeText(status.mode)}); chmod 700 changes that`);
}

/** Who can write to a parent can put another directory in place of ours. The sticky bit keeps names to their owners. */
async function checkParents(path: string, { uid, gid }: Identity): Promise<void> {
  for (let parent = dirname(path), below = path; parent !== below; below = parent, parent = dirname(parent)) {
    const real = await realpath(parent).catch(() => undefined);
    // What is missing will be made by us.
    if (real === undefined) continue;
    if (real !== parent) await checkParents(join(real, "_"), { uid, gid });
    const status = await stat(real);
    if (status.uid !== uid && status.uid !== 0)
      throw refused(path, `its parent ${parent} belongs to uid ${status.uid}`);
    // The primary group of a user is often the user alone.
    const others = othersMayWrite | (status.gid === gid ? 0 : groupMayWrite);
    if ((status.mode & others) !== 0 && (status.mode & sticky) === 0)
      throw refused(path, `others may write to its parent ${parent} (mode ${modeText(status.mode)})`);
  }
}

/** The text of a file; undefined when there is none. Throws KubeError `Config` when somebody else may have written it. */
export async function readPrivateFile(path: string, self = ownIdentity()): Promise<string | undefined> {
  let file: FileHandle;
  try {
    // A pipe without a writer must not be waited for.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const status = await file.stat();
    if (!status.isFile()) throw refused(path, "it is no file");
    if (status.size > largestFile) throw refused(path, `it has ${status.size} bytes`);
    if (self !== undefined && status.uid !== self.uid)
      throw refused(path, `it belongs to uid ${status.uid}, this process is uid ${self.uid}`);
    if (self !== undefined && (status.mode & (groupMayWrite | othersMayWrite)) !== 0)
      throw refused(path, `others may write to it (mode ${modeText(status.mode)})`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

function refused(path: string, why: string): KubeError {
  return new KubeError("Config", `${path} is not used for keys: ${why}`);
}

function modeText(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}
