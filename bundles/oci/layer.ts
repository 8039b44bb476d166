/** A layer of files as a recipe copies them; owners, modes and times do not depend on who made it, where and when. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import type { Copy } from "../containerfile.ts";
import { BundleError, messageOf } from "../errors.ts";
import { type Blob, blobOf, digestOf } from "./documents.ts";

export interface Layer {
  /** Compressed. */
  readonly blob: Blob;
  /** Digest of the archive before it was compressed. */
  readonly diffId: string;
}

interface File {
  /** In the image, without the slash at its beginning. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly uid: number;
  readonly gid: number;
}

const time = new Date(0);

/** `context`: the folder that the copies are from. Rejects with BundleError where a file cannot be read. */
export async function layerOf(context: string, copies: readonly Copy[]): Promise<Layer> {
  const files: File[] = [];
  for (const copy of copies) files.push(...(await filesOf(context, copy)));
  const folders = new Map<string, Pick<File, "uid" | "gid">>();
  for (const { path, uid, gid } of files) {
    for (const folder of parentsOf(path)) if (!folders.has(folder)) folders.set(folder, { uid, gid });
  }
  const entries = [
    ...[...folders].map(([name, owner]) => ({
      header: { name, type: "directory" as const, size: 0, mode: 0o755, mtime: time, ...owner },
    })),
    ...files.map(({ path, bytes, uid, gid }) => ({
      header: { name: path, type: "file" as const, size: bytes.length, mode: 0o644, mtime: time, uid, gid },
      body: bytes,
    })),
  ].sort((a, b) => (a.header.name < b.header.name ? -1 : 1));
  const archive = await packTar(entries);
  return { blob: blobOf(gzipSync(archive, { level: 9 })), diffId: digestOf(archive) };
}

async function filesOf(context: string, { source, target, uid, gid }: Copy): Promise<File[]> {
  const place = join(context, source);
  const inImage = target.slice(1);
  try {
    if (!source.endsWith("/")) return [{ path: inImage, bytes: await readFile(place), uid, gid }];
    const names = (await readdir(place)).sort();
    return await Promise.all(
      names.map(async (name) => ({
        path: `${inImage}${name}`,
        bytes: await readFile(join(place, name)),
        uid,
        gid,
      })),
    );
  } catch (cause) {
    throw new BundleError(
      `${messageOf(cause)}; "npm run build" and "npm run build:agent" make what images hold`,
      {
        cause,
      },
    );
  }
}

/** `refit/refit/a.mjs` -> `refit/`, `refit/refit/`. */
function parentsOf(path: string): string[] {
  const steps = path.split("/").slice(0, -1);
  return steps.map((_step, index) => `${steps.slice(0, index + 1).join("/")}/`);
}
