/** An image from its base, a layer and a recipe: pure, and the same for the same input. */
import type { Recipe } from "../containerfile.ts";
import { BundleError } from "../errors.ts";
import {
  type Blob,
  type Config,
  type Descriptor,
  descriptorOf,
  documentOf,
  type Manifest,
  mediaTypes,
  type Platform,
} from "./documents.ts";
import type { Layer } from "./layer.ts";

export interface BaseImage {
  readonly config: Config;
  readonly manifest: Manifest;
  /** Annotations that say what the image stands on. */
  readonly annotations: Readonly<Record<string, string>>;
}

export interface DerivedImage {
  readonly config: Blob;
  readonly manifest: Blob;
  readonly platform: Platform;
}

/** `created`: RFC 3339. Throws BundleError where the base is not built of layers that can be copied. */
export function deriveImage(base: BaseImage, layer: Layer, recipe: Recipe, created: string): DerivedImage {
  const { rootfs, history } = base.config;
  const config = documentOf({
    ...base.config,
    created,
    config: settings(base.config, recipe),
    rootfs: { type: "layers", diff_ids: [...rootfs.diff_ids, layer.diffId] },
    history: [
      ...(history ?? []),
      { created, created_by: `COPY ${recipe.copies.map((copy) => copy.target).join(" ")}` },
    ],
  });
  const manifest = documentOf({
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: descriptorOf(config, mediaTypes.config),
    layers: [...base.manifest.layers.map(ociLayer), descriptorOf(layer.blob, mediaTypes.layer)],
    annotations: base.annotations,
  });
  const { os, architecture, variant } = base.config;
  return { config, manifest, platform: { os, architecture, ...(variant === undefined ? {} : { variant }) } };
}

/** What a container is started with: the base's settings, and over them those of the recipe. */
function settings({ config }: Config, recipe: Recipe): object {
  const environment = new Map(
    (config?.Env ?? []).map((line): [string, string] => {
      const sign = line.indexOf("=");
      return [line.slice(0, sign), line.slice(sign + 1)];
    }),
  );
  for (const [name, value] of recipe.environment) environment.set(name, value);
  return {
    ...config,
    User: recipe.user,
    Env: [...environment].map(([name, value]) => `${name}=${value}`),
    // Without an entrypoint of its own the image must not keep the base's, which would get the command as arguments.
    Entrypoint: recipe.entrypoint ?? [],
    Cmd: recipe.command,
    Labels: { ...config?.Labels, ...Object.fromEntries(recipe.labels) },
  };
}

/** Docker's layers are OCI's under another name. */
function ociLayer(layer: Descriptor): Descriptor {
  const { mediaType } = layer;
  const docker = dockerLayers.get(mediaType);
  if (docker !== undefined) return { ...layer, mediaType: docker };
  if (mediaType.startsWith("application/vnd.oci.image.layer.v1.tar")) return layer;
  throw new BundleError(
    `the base has a layer of type ${mediaType}, which may not be copied; name another base`,
  );
}

const dockerLayers: ReadonlyMap<string, string> = new Map([
  ["application/vnd.docker.image.rootfs.diff.tar", "application/vnd.oci.image.layer.v1.tar"],
  ["application/vnd.docker.image.rootfs.diff.tar.gzip", mediaTypes.layer],
]);
