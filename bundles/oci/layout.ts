/** Writes an OCI image layout. Either the whole of it appears under its name, or nothing does. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { BundleError, messageOf } from "../errors.ts";
import { type Blob, type Descriptor, documentOf, refName } from "./documents.ts";

export interface Layout {
  /** Blobs that are there already are not written again. */
  add(blob: Blob): Promise<void>;
  has(digest: string): boolean;
  /** Gives an image that was added a name. */
  name(image: Descriptor, name: string): void;
}

/**
 * Fills a layout and puts it in the place of `folder`; an earlier layout there is replaced, anything else is refused.
 * Whatever `fill` rejects with is passed on, and nothing is left behind.
 */
export async function writeLayout(folder: string, fill: (layout: Layout) => Promise<void>): Promise<void> {
  const target = resolve(folder);
  await refuseOthers(target);
  await mkdir(dirname(target), { recursive: true });
  const work = await mkdtemp(join(dirname(target), `.${basename(target)}-`));
  try {
    const made = join(work, "new");
    await mkdir(join(made, "blobs", "sha256"), { recursive: true });
    const images = await filled(made, fill);
    await writeFile(join(made, "index.json"), documentOf({ schemaVersion: 2, manifests: images }).bytes);
    await writeFile(join(made, "oci-layout"), `{"imageLayoutVersion":"1.0.0"}`);
    if (existsSync(target)) await rename(target, join(work, "old"));
    await rename(made, target);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function filled(folder: string, fill: (layout: Layout) => Promise<void>): Promise<Descriptor[]> {
  const images: Descriptor[] = [];
  const written = new Set<string>();
  await fill({
    async add({ bytes, digest }) {
      if (written.has(digest)) return;
      written.add(digest);
      await writeFile(join(folder, "blobs", ...digest.split(":")), bytes);
    },
    has: (digest) => written.has(digest),
    name: (image, name) => {
      images.push({ ...image, annotations: { [refName]: name } });
    },
  });
  return images;
}

async function refuseOthers(target: string): Promise<void> {
  const found = await readdir(target).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === "ENOENT") return [];
    throw new BundleError(`cannot write to ${target}: ${messageOf(error)}; name another folder with --out`, {
      cause: error,
    });
  });
  if (found.length > 0 && !found.includes("oci-layout"))
    throw new BundleError(`${target} holds something that is no OCI layout; name another folder with --out`);
}
