/** `SHA256SUMS` of a folder, as `sha256sum --check` reads it. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { pipeline } from "node:stream/promises";

export const checksumsFile = "SHA256SUMS";

/** Digest in hex by path, with `/`, of every file below the folder but the checksums themselves; in the order of the paths. */
export async function checksumsOf(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((path) => path !== checksumsFile)
    .sort();
  const sums = new Map<string, string>();
  for (const path of paths) {
    const hash = createHash("sha256");
    await pipeline(createReadStream(join(folder, path)), hash);
    sums.set(path, hash.digest("hex"));
  }
  return sums;
}

export async function writeChecksums(folder: string): Promise<void> {
  const lines = [...(await checksumsOf(folder))].map(([path, sum]) => `${sum}  ${path}\n`);
  await writeFile(join(folder, checksumsFile), lines.join(""));
}
