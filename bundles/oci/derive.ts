/** The image of a recipe on every platform that both the base and the caller have. */
import type { Recipe } from "../containerfile.ts";
import { BundleError } from "../errors.ts";
import type { Base } from "./base.ts";
import {
  type Descriptor,
  descriptorOf,
  dockerMediaTypes,
  documentOf,
  type Manifest,
  mediaTypes,
  type Platform,
  readConfig,
  readIndex,
  readManifest,
} from "./documents.ts";
import { type BaseImage, deriveImage } from "./image.ts";
import type { Layer } from "./layer.ts";
import type { Layout } from "./layout.ts";

/** Platforms that Refit is shipped for, as `os/architecture`. */
export const platforms: readonly string[] = ["linux/amd64", "linux/arm64"];

export interface Derivation {
  readonly base: Base;
  readonly recipe: Recipe;
  readonly layer: Layer;
  /** Each must be there; undefined: those of `platforms` that the base has. */
  readonly wanted: readonly string[] | undefined;
  /** RFC 3339. */
  readonly created: string;
}

/** Adds the image to the layout; resolves to its index, and the platforms in it. Rejects with BundleError. */
export async function addImage(
  layout: Layout,
  { base, recipe, layer, wanted, created }: Derivation,
): Promise<{ image: Descriptor; platforms: readonly string[] }> {
  const chosen = chosenOf(base, await imagesIn(base), wanted);
  await layout.add(layer.blob);
  const manifests: Descriptor[] = [];
  for (const found of chosen) {
    const derived = deriveImage(found, layer, recipe, created);
    await copyLayers(layout, base, found.manifest);
    await layout.add(derived.config);
    await layout.add(derived.manifest);
    manifests.push({ ...descriptorOf(derived.manifest, mediaTypes.manifest), platform: derived.platform });
  }
  const index = documentOf({ schemaVersion: 2, mediaType: mediaTypes.index, manifests });
  await layout.add(index);
  return {
    image: descriptorOf(index, mediaTypes.index),
    platforms: chosen.map(({ config }) => nameOf(config)),
  };
}

/** The base's images, one a platform; those of other systems, and what stands beside images (attestations), are left out. */
async function imagesIn(base: Base): Promise<BaseImage[]> {
  const descriptors = await manifestsOf(base);
  const images: BaseImage[] = [];
  for (const descriptor of descriptors) {
    const at = `base ${base.name}, ${descriptor.digest}`;
    const manifest = readManifest(await base.read(descriptor), at);
    const config = readConfig(await base.read(manifest.config), at);
    if (config.rootfs.diff_ids.length !== manifest.layers.length)
      throw new BundleError(`${at}: its configuration and its manifest name different layers`);
    const annotations = {
      ...(base.name.startsWith("oci:") ? {} : { "org.opencontainers.image.base.name": base.name }),
      "org.opencontainers.image.base.digest": descriptor.digest,
    };
    images.push({ config, manifest, annotations });
  }
  return images;
}

async function manifestsOf(base: Base): Promise<readonly Descriptor[]> {
  const { mediaType } = base.root;
  if (mediaType === mediaTypes.manifest || mediaType === dockerMediaTypes.manifest) return [base.root];
  if (mediaType !== mediaTypes.index && mediaType !== dockerMediaTypes.index)
    throw new BundleError(`base ${base.name}: is a document of type ${mediaType || "unknown"}, not an image`);
  const { manifests } = readIndex(await base.read(base.root), `base ${base.name}`);
  const seen = new Set<string>();
  return manifests.filter(({ platform }) => {
    const name = platform === undefined ? "" : nameOf(platform);
    if (!platforms.includes(name) || seen.has(name)) return false;
    seen.add(name);
    return true;
  });
}

function chosenOf(
  base: Base,
  images: readonly BaseImage[],
  wanted: readonly string[] | undefined,
): BaseImage[] {
  const has = images.map(({ config }) => nameOf(config));
  const missing = (wanted ?? []).filter((platform) => !has.includes(platform));
  const chosen = images.filter(({ config }) => (wanted ?? platforms).includes(nameOf(config)));
  if (missing.length === 0 && chosen.length > 0) return chosen;
  const lacks = (wanted === undefined ? platforms : missing).join(" and ");
  throw new BundleError(
    `base ${base.name}: has no image for ${lacks}, only for ${has.join(", ") || "other platforms"}; name another base${wanted === undefined ? "" : ", or leave --platform out"}`,
  );
}

const nameOf = ({ os, architecture }: Platform): string => `${os}/${architecture}`;

async function copyLayers(layout: Layout, base: Base, { layers }: Manifest): Promise<void> {
  for (const layer of layers) {
    if (!layout.has(layer.digest)) await layout.add({ bytes: await base.read(layer), digest: layer.digest });
  }
}
