/** A base image of this machine's own Node: its program and the libraries that it is linked with, and nothing else. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { type Blob, blobOf, descriptorOf, digestOf, documentOf } from "../../bundles/oci/documents.ts";
import { ociTypes, writeBaseLayout } from "./base_image_builder.ts";

/** Writes the image as an OCI layout under the name; `program` is the Node that it runs. */
export function writeNodeBase(folder: string, name: string, program: string): void {
  const root = join(folder, "root");
  copyInto(root, program, "/usr/local/bin/node");
  for (const library of librariesOf(program)) copyInto(root, library, library);
  mkdirSync(join(root, "tmp"), { mode: 0o1777 });
  mkdirSync(join(root, "etc"));
  writeFileSync(join(root, "etc/passwd"), "root:x:0:0:root:/root:/\nnobody:x:65534:65534:nobody:/:/\n");
  const archive = join(folder, "root.tar");
  execFileSync("tar", [
    "-C",
    root,
    "--owner=0",
    "--group=0",
    "--mtime=@0",
    "--sort=name",
    "-cf",
    archive,
    ".",
  ]);
  const tar = readFileSync(archive);
  rmSync(root, { recursive: true });
  rmSync(archive);
  const architecture = process.arch === "arm64" ? "arm64" : "amd64";
  const layer = blobOf(gzipSync(tar, { level: 1 }));
  const config = documentOf({
    os: "linux",
    architecture,
    config: { Env: ["PATH=/usr/local/bin"] },
    rootfs: { type: "layers", diff_ids: [digestOf(tar)] },
    history: [{ created_by: "node" }],
  });
  const manifest = documentOf({
    schemaVersion: 2,
    mediaType: ociTypes.manifest,
    config: descriptorOf(config, ociTypes.config),
    layers: [descriptorOf(layer, ociTypes.layer)],
  });
  const blobs = new Map<string, Blob>([layer, config, manifest].map((blob) => [blob.digest, blob]));
  const base = { ...descriptorOf(manifest, ociTypes.manifest), platform: { os: "linux", architecture } };
  writeBaseLayout(folder, name, { blobs, root: base });
}

/** Files that the dynamic linker loads, under the names by which it does. */
function librariesOf(program: string): string[] {
  const listed = execFileSync("ldd", [program], { encoding: "utf8" });
  return listed.split("\n").flatMap((line) => /^\s+(?:\S+ => )?(\/\S+)/.exec(line)?.[1] ?? []);
}

function copyInto(root: string, file: string, place: string): void {
  const target = join(root, place);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(file, target);
}
