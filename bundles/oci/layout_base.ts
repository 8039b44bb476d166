/** A base in a folder: an OCI image layout. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { BundleError, messageOf } from "../errors.ts";
import { type Base, verified } from "./base.ts";
import { type Descriptor, readIndex, refName } from "./documents.ts";

/** `place`: `FOLDER[:NAME]`; the name may be left out where the layout holds one image. Rejects with BundleError. */
export async function layoutBase(name: string, place: string): Promise<Base> {
  const colon = place.lastIndexOf(":");
  const folder = colon < 0 ? place : place.slice(0, colon);
  const wanted = colon < 0 ? undefined : place.slice(colon + 1);
  const file = join(folder, "index.json");
  const text = await readFile(file).catch((cause: unknown) => {
    const why = messageOf(cause);
    throw new BundleError(
      `base ${name}: no OCI layout can be read in ${folder} (${why}); "skopeo copy docker://IMAGE oci:FOLDER:NAME" makes one`,
      { cause },
    );
  });
  const { manifests } = readIndex(text, file);
  const found = manifests.filter((one) => wanted === undefined || one.annotations?.[refName] === wanted);
  const [root] = found;
  if (root === undefined || found.length > 1) {
    const names = manifests.flatMap((one) => one.annotations?.[refName] ?? []).join(", ");
    throw new BundleError(
      `base ${name}: ${folder} has ${found.length} images of that name; it holds ${names || "none with a name"}`,
    );
  }
  const read = async (descriptor: Descriptor): Promise<Uint8Array> => {
    const blob = join(folder, "blobs", ...descriptor.digest.split(":"));
    const bytes = await readFile(blob).catch((cause: unknown) => {
      const why = messageOf(cause);
      throw new BundleError(`base ${name}: the layout is not whole (${why}); copy it again`, { cause });
    });
    return verified(name, descriptor, bytes);
  };
  return { name, root, read };
}
