/** Base images of a few bytes, as registries and tools write them: blobs by digest, and the descriptor of the image. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import {
  type Blob,
  blobOf,
  type Descriptor,
  descriptorOf,
  digestOf,
  documentOf,
} from "../../bundles/oci/documents.ts";

export interface BaseImage {
  readonly blobs: ReadonlyMap<string, Blob>;
  readonly root: Descriptor;
}

interface Types {
  readonly index: string;
  readonly manifest: string;
  readonly config: string;
  readonly layer: string;
}

export const ociTypes: Types = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
};

export const dockerTypes: Types = {
  index: "application/vnd.docker.distribution.manifest.list.v2+json",
  manifest: "application/vnd.docker.distribution.manifest.v2+json",
  config: "application/vnd.docker.container.image.v1+json",
  layer: "application/vnd.docker.image.rootfs.diff.tar.gzip",
};

/** An image of one layer for each of the platforms; one platform alone has no index around it. */
export function baseImage(platforms: readonly string[], types = ociTypes): BaseImage {
  const blobs = new Map<string, Blob>();
  const add = (blob: Blob): Blob => {
    blobs.set(blob.digest, blob);
    return blob;
  };
  const manifests = platforms.map((name): Descriptor => {
    const [os = "", architecture = ""] = name.split("/");
    const tar = Buffer.from(`layer of ${name}`);
    const layer = add(blobOf(gzipSync(tar)));
    const config = add(
      documentOf({
        os,
        architecture,
        config: {
          Env: ["PATH=/bin", "A=base"],
          Cmd: ["node"],
          Entrypoint: ["docker-entrypoint.sh"],
          Labels: null,
        },
        rootfs: { type: "layers", diff_ids: [digestOf(tar)] },
        history: [{ created_by: "base" }],
      }),
    );
    const manifest = add(
      documentOf({
        schemaVersion: 2,
        mediaType: types.manifest,
        config: descriptorOf(config, types.config),
        layers: [descriptorOf(layer, types.layer)],
      }),
    );
    return { ...descriptorOf(manifest, types.manifest), platform: { os, architecture } };
  });
  const [only] = manifests;
  if (only !== undefined && manifests.length === 1) return { blobs, root: only };
  const index = add(documentOf({ schemaVersion: 2, mediaType: types.index, manifests }));
  return { blobs, root: descriptorOf(index, types.index) };
}

/** Writes it as an OCI layout under a name. */
export function writeBaseLayout(folder: string, name: string, { blobs, root }: BaseImage): void {
  mkdirSync(join(folder, "blobs", "sha256"), { recursive: true });
  for (const { bytes, digest } of blobs.values())
    writeFileSync(join(folder, "blobs", ...digest.split(":")), bytes);
  const annotations = { "org.opencontainers.image.ref.name": name };
  writeFileSync(
    join(folder, "index.json"),
    JSON.stringify({ schemaVersion: 2, manifests: [{ ...root, annotations }] }),
  );
  writeFileSync(join(folder, "oci-layout"), `{"imageLayoutVersion":"1.0.0"}`);
}
