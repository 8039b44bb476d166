/**
 * Test images without a network: one archive in docker's `save` format, to be imported on each node.
 * All images share one layer (a static busybox under the names of its applets, a web server called nginx, and one that
 * hands its socket over: `handover/`);
 * a second small layer holds the image's own name, so that every image has an id of its own.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

export const pauseImage = "localhost/refit-pause:1";

/** Names that resolve on every node. `nginx:stable` is a second tag of the very image `nginx:1.22`. */
export const testImages = [
  "nginx:1.19",
  "nginx:1.20",
  "nginx:1.21",
  "nginx:1.22",
  "nginx:alpine",
  "nginx:mainline",
  "busybox:1.32",
  "busybox:1.33",
  "busybox:1.34",
  "busybox:1.35",
  "busybox:1.36",
  "busybox:1.37",
] as const;

const secondTags: Readonly<Record<string, string>> = { "nginx:1.22": "nginx:stable" };

const webServer = `#!/bin/sh
trap 'exit 0' TERM QUIT INT
httpd -f -p 80 -h /usr/share/nginx/html &
sleep 2147483647 &
wait $!
`;
const pause = `#!/bin/sh
trap 'exit 0' TERM INT
sleep 2147483647 &
wait $!
`;

/** Writes the archive to `file`; `folder` is scratch, `programs` is where `build.sh` has put its programs. */
export function writeImageArchive(folder: string, file: string, programs: string): void {
  rmSync(folder, { recursive: true, force: true });
  const layers = join(folder, "archive");
  mkdirSync(layers, { recursive: true });
  const base = baseLayer(folder, layers, programs);
  const manifest: object[] = [image(folder, layers, base, "pause", [pauseImage], ["/bin/pause"])];
  for (const name of testImages) {
    const command = name.startsWith("nginx") ? ["/usr/sbin/nginx"] : ["/bin/sh"];
    const tags = [name, ...(secondTags[name] === undefined ? [] : [secondTags[name]])];
    manifest.push(
      image(
        folder,
        layers,
        base,
        name,
        tags.map((tag) => `docker.io/library/${tag}`),
        command,
      ),
    );
  }
  writeFileSync(join(layers, "manifest.json"), JSON.stringify(manifest));
  execFileSync("tar", ["-C", layers, "-cf", file, "."]);
  rmSync(folder, { recursive: true, force: true });
}

function baseLayer(folder: string, layers: string, programs: string): string {
  const root = join(folder, "root");
  for (const part of ["bin", "etc", "tmp", "usr/bin", "usr/sbin", "usr/share/nginx/html"]) {
    mkdirSync(join(root, part), { recursive: true });
  }
  const busybox = execFileSync("sh", ["-c", "command -v busybox"], { encoding: "utf8" }).trim();
  copyFileSync(busybox, join(root, "bin/busybox"));
  for (const applet of execFileSync(busybox, ["--list"], { encoding: "utf8" }).trim().split("\n")) {
    if (applet !== "busybox") symlinkSync("/bin/busybox", join(root, "bin", applet));
  }
  copyFileSync(join(programs, "handover"), join(root, "usr/bin/handover"));
  for (const [path, text] of [
    ["usr/sbin/nginx", webServer],
    ["bin/pause", pause],
    ["etc/passwd", "root:x:0:0:root:/:/bin/sh\n"],
  ] as const) {
    writeFileSync(join(root, path), text);
    chmodSync(join(root, path), 0o755);
  }
  return layer(root, layers, "base");
}

/** Packs `root` and returns the layer's digest. */
function layer(root: string, layers: string, name: string): string {
  const file = join(layers, `${name}.tar`);
  execFileSync("tar", ["-C", root, "--owner=0", "--group=0", "--mtime=@0", "--sort=name", "-cf", file, "."]);
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

function image(
  folder: string,
  layers: string,
  base: string,
  name: string,
  tags: readonly string[],
  command: readonly string[],
): object {
  const layerName = name.replace(":", "-");
  const root = join(folder, `root-${layerName}`);
  mkdirSync(join(root, "usr/share/nginx/html"), { recursive: true });
  writeFileSync(join(root, "usr/share/nginx/html/index.html"), `${name}\n`);
  const own = layer(root, layers, layerName);
  const config = JSON.stringify({
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    os: "linux",
    config: { Cmd: command, Env: ["PATH=/bin:/usr/bin:/usr/sbin"] },
    rootfs: { type: "layers", diff_ids: [`sha256:${base}`, `sha256:${own}`] },
    history: [],
  });
  const configName = `${createHash("sha256").update(config).digest("hex")}.json`;
  writeFileSync(join(layers, configName), config);
  return { Config: configName, RepoTags: tags, Layers: ["base.tar", `${layerName}.tar`] };
}
