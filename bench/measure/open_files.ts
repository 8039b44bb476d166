/** What a process has open, from the kernel's own list, on Linux only. */
import { readdirSync, readlinkSync } from "node:fs";

export interface OpenFiles {
  /** All file descriptors. */
  readonly handles: number;
  /** Those of them that are files of a disk. */
  readonly files: number;
}

/** Throws when the process is gone or is another user's. */
export function openFiles(pid: number): OpenFiles {
  const folder = `/proc/${pid}/fd`;
  const targets = readdirSync(folder).flatMap((name) => targetOf(`${folder}/${name}`));
  return {
    handles: targets.length,
    files: targets.filter((target) => target.startsWith("/") && !target.startsWith("/dev/")).length,
  };
}

/** Nothing of a descriptor that was closed meanwhile. */
function targetOf(path: string): string[] {
  try {
    return [readlinkSync(path)];
  } catch {
    return [];
  }
}
