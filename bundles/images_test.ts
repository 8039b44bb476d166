import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { unpackTar } from "modern-tar";
import t from "tap";
import { baseImage, dockerTypes, writeBaseLayout } from "../testkit/bundles/base_image_builder.ts";
import { fakeImageRegistry } from "../testkit/bundles/fake_image_registry.ts";
import { checksumsOf } from "./checksums.ts";
import { main } from "./images.ts";
import {
  type Config,
  type Descriptor,
  digestOf,
  type Index,
  type Manifest,
  readConfig,
  readIndex,
  readManifest,
} from "./oci/documents.ts";

const both = ["linux/amd64", "linux/arm64"];

/** A folder with a context of built files, and a base under `oci:BASE`. */
function workshop(t: Tap, platforms = both): { folder: string; base: string } {
  const folder = t.testdir({
    dist: {
      "refit.mjs": "import './refit/a.mjs';",
      refit: { "a.mjs": "a", "b.mjs": "b" },
      "refit.NOTICES.txt": "notices",
      "agent.mjs": "agent",
      "agent.NOTICES.txt": "notices of the agent",
    },
  });
  const layout = join(folder, "base");
  writeBaseLayout(layout, "node", baseImage(platforms));
  return { folder, base: `oci:${layout}:node` };
}

type Tap = Pick<typeof t, "testdir">;

async function run(
  folder: string,
  argv: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const out = { stdout: "", stderr: "" };
  const sink = (name: "stdout" | "stderr") => ({
    write: (text: string) => {
      out[name] += text;
    },
  });
  const code = await main(["--out", join(folder, "images"), ...argv], {
    env,
    stdout: sink("stdout"),
    stderr: sink("stderr"),
    signal: new AbortController().signal,
    dist: join(folder, "dist"),
  });
  return { code, ...out };
}

/** An independent look at what was written. */
class Written {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = join(folder, "images");
  }

  blob({ digest, size }: Descriptor): Buffer {
    const bytes = readFileSync(join(this.#folder, "blobs", ...digest.split(":")));
    t.equal(digestOf(bytes), digest);
    t.equal(bytes.length, size);
    return bytes;
  }

  images(): ReadonlyMap<string, Index> {
    const index = readIndex(readFileSync(join(this.#folder, "index.json")), "index.json");
    return new Map(
      index.manifests.map((one) => [
        one.annotations?.["org.opencontainers.image.ref.name"] ?? "",
        readIndex(this.blob(one), "index"),
      ]),
    );
  }

  image(name: string, architecture: string): { config: Config; manifest: Manifest } {
    const found = this.images()
      .get(name)
      ?.manifests.find((one) => one.platform?.architecture === architecture);
    if (found === undefined) throw new Error(`no ${name} for ${architecture}`);
    const manifest = readManifest(this.blob(found), "manifest");
    return { manifest, config: readConfig(this.blob(manifest.config), "config") };
  }
}

t.test("controller and agent on a layout, for the platforms that it has", async (t) => {
  const { folder, base } = workshop(t, ["linux/amd64", "windows/amd64", "linux/arm64", "unknown/unknown"]);
  const flags = ["--node-base", base, "--revision", "abc", "--source", "https://example.com/refit"];
  const { code, stdout, stderr } = await run(folder, flags);
  t.same({ code, stderr }, { code: 0, stderr: "" });
  t.match(stdout, /^controller {2}linux\/amd64, linux\/arm64 {2}sha256:\w{64}\nagent {2}linux/);
  const written = new Written(folder);
  t.same([...written.images().keys()], ["controller", "agent"]);
  for (const architecture of ["amd64", "arm64"]) {
    const { config, manifest } = written.image("controller", architecture);
    t.match(config, {
      os: "linux",
      architecture,
      created: "1970-01-01T00:00:00.000Z",
      config: {
        User: "65534:65534",
        Env: ["PATH=/bin", "A=base", "MALLOC_ARENA_MAX=1"],
        Entrypoint: ["node", "--max-semi-space-size=2", "/refit/refit.mjs"],
        Cmd: ["controller"],
        Labels: {
          "org.opencontainers.image.title": "refit-controller",
          "org.opencontainers.image.revision": "abc",
          "org.opencontainers.image.source": "https://example.com/refit",
        },
      },
    });
    t.equal(config.history?.length, 2);
    const [below, own] = manifest.layers;
    if (below === undefined || own === undefined) throw new Error("two layers are expected");
    t.equal(String(gunzipSync(written.blob(below))), `layer of linux/${architecture}`);
    t.equal(digestOf(gunzipSync(written.blob(own))), config.rootfs.diff_ids[1]);
  }
  const agent = written.image("agent", "arm64").config;
  t.match(agent, { config: { User: "0:0", Entrypoint: [], Cmd: ["node"] } });
});

t.test("files have owners and modes of their own, and no time", async (t) => {
  const { folder, base } = workshop(t);
  await run(folder, ["--node-base", base]);
  const written = new Written(folder);
  const layer = written.image("controller", "amd64").manifest.layers.at(-1);
  if (layer === undefined) throw new Error("no layer");
  const files = await unpackTar(gunzipSync(written.blob(layer)));
  t.same(
    files.map(({ header }) => [header.name, header.mode?.toString(8), header.uid, header.mtime?.getTime()]),
    [
      ["refit/", "755", 65_534, 0],
      ["refit/NOTICES.txt", "644", 65_534, 0],
      ["refit/refit.mjs", "644", 65_534, 0],
      ["refit/refit/", "755", 65_534, 0],
      ["refit/refit/a.mjs", "644", 65_534, 0],
      ["refit/refit/b.mjs", "644", 65_534, 0],
    ],
  );
  t.equal(Buffer.from(files[4]?.data ?? []).toString(), "a");
});

t.test("made twice, each byte is the same; the time is SOURCE_DATE_EPOCH", async (t) => {
  const { folder, base } = workshop(t);
  const flags = ["--node-base", base, "--deno-base", base];
  await run(folder, flags);
  const first = await checksumsOf(join(folder, "images"));
  t.equal((await run(folder, flags)).code, 0, "an earlier layout is replaced");
  t.same(await checksumsOf(join(folder, "images")), first);
  t.same([...new Written(folder).images().keys()], ["controller", "agent", "agent-deno"]);
  await run(folder, flags, { SOURCE_DATE_EPOCH: "1700000000" });
  t.match(new Written(folder).image("agent", "amd64").config, { created: "2023-11-14T22:13:20.000Z" });
  t.same(readdirSync(folder).sort(), ["base", "dist", "images"]);
});

t.test("bases of a registry have to be digests where that is required", async (t) => {
  const { folder, base } = workshop(t);
  const digest = `node@sha256:${"a".repeat(64)}`;
  for (const [name, other] of [
    ["node:24-slim", digest],
    [digest, "denoland/deno:2.9.5"],
    ["node@sha256:abc", digest],
  ] as const) {
    const flags = ["--require-digests", "--node-base", name, "--deno-base", other];
    const { code, stderr } = await run(folder, flags);
    t.equal(code, 2);
    const tagged = name === digest ? other : name;
    t.equal(stderr.startsWith(`error: ${tagged} is no digest: name it as IMAGE@sha256:…`), true, stderr);
  }
  t.equal((await run(folder, ["--require-digests", "--node-base", base])).code, 0, "a layout is what it is");
});

t.test("one platform alone", async (t) => {
  const { folder, base } = workshop(t);
  const { stdout } = await run(folder, ["--node-base", base, "--platform", "linux/arm64"]);
  t.match(stdout, /^controller {2}linux\/arm64 {2}sha/);
  const plain = workshop(t, ["linux/arm64"]);
  await run(plain.folder, ["--node-base", plain.base]);
  t.equal(new Written(plain.folder).images().get("agent")?.manifests.length, 1, "a base without an index");
});

t.test("a base of a registry that asks for a token, in docker's types", async (t) => {
  const { folder } = workshop(t);
  const registry = await fakeImageRegistry(baseImage(both, dockerTypes));
  t.teardown(() => registry.close());
  const { code, stderr } = await run(folder, ["--node-base", registry.image]);
  t.same({ code, stderr }, { code: 0, stderr: "" });
  const { manifest, config } = new Written(folder).image("agent", "amd64");
  t.match(manifest, { annotations: { "org.opencontainers.image.base.name": registry.image } });
  t.same(new Set(manifest.layers.map((layer) => layer.mediaType)).size, 1, "docker's layers have OCI's type");
  t.match(config, { architecture: "amd64" });
  t.equal(registry.asked.filter((path) => path === "/token").length, 1);
  const [layer] = manifest.layers;
  const reads = registry.asked.filter((path) => path.endsWith(layer?.digest ?? "none"));
  t.equal(reads.length, 1, "both images stand on one copy of a layer");
});

t.test("what cannot be made is one line, and leaves nothing behind", async (t) => {
  const { folder, base } = workshop(t, ["linux/amd64"]);
  const image = baseImage(both);
  const registry = await fakeImageRegistry(image);
  const closed = await fakeImageRegistry(image, { isPrivate: true });
  t.teardown(() => Promise.all([registry.close(), closed.close()]));
  const broken = await fakeImageRegistry(image);
  t.teardown(() => broken.close());
  const layer = [...image.blobs.keys()][0] ?? "";
  broken.tampered.set(layer, new Uint8Array(image.blobs.get(layer)?.bytes.length ?? 0));
  writeFileSync(join(folder, "base", "oci-layout"), "");
  mkdirSync(join(folder, "garbage"));
  writeFileSync(join(folder, "garbage", "index.json"), `{"manifests":[{"digest":"../../x"}]}`);
  const before = readdirSync(folder).sort();
  for (const [flags, code, problem] of [
    [[], 2, /no base is named/],
    [["--node"], 2, /'--node'.*see "npm run images -- --help"/],
    [["--node-base", base, "--platform", "linux/riscv64"], 2, /must be one of linux\/amd64, linux\/arm64/],
    [
      ["--node-base", base, "--platform", "linux/arm64"],
      1,
      /no image for linux\/arm64, only for linux\/amd64/,
    ],
    [["--node-base", `oci:${folder}/none:x`], 1, /no OCI layout can be read in .*none.*skopeo copy/],
    [["--node-base", `oci:${folder}/base:other`], 1, /0 images of that name; it holds node/],
    [["--node-base", `oci:${folder}/garbage`], 1, /index\.json is no image index/],
    [["--node-base", "No Image"], 2, /invalid reference format.*name an image as a pod does/],
    [["--node-base", registry.image.replace(":24", ":23")], 1, /has no such image/],
    [["--node-base", closed.image], 1, /no such image, or wants a login/],
    [["--node-base", broken.image], 1, /holds other bytes than its digest says/],
    [["--node-base", "127.0.0.1:1/x:1"], 1, /127\.0\.0\.1:1 cannot be read/],
  ] as const) {
    const result = await run(folder, flags);
    t.equal(result.code, code, result.stderr);
    t.match(result.stderr, problem);
    t.match(result.stderr, /^error: [^\n]+\n$/);
    t.same(readdirSync(folder).sort(), before, flags.join(" "));
  }
  t.match(await run(folder, ["--node-base", base], { SOURCE_DATE_EPOCH: "now" }), {
    code: 2,
    stderr: /SOURCE_DATE_EPOCH=now: must be seconds/,
  });
});

t.test("a base of other platforms, and a folder that holds something else", async (t) => {
  const { folder, base } = workshop(t, ["windows/amd64", "linux/s390x"]);
  t.match(await run(folder, ["--node-base", base]), {
    code: 1,
    stderr: /has no image for linux\/amd64 and linux/,
  });
  mkdirSync(join(folder, "images"));
  writeFileSync(join(folder, "images", "precious"), "");
  t.match(await run(folder, ["--node-base", base]), { code: 1, stderr: /precious|is no OCI layout/ });
  t.ok(existsSync(join(folder, "images", "precious")));
});

t.test("files that were not built", async (t) => {
  const { folder, base } = workshop(t);
  const bare = await main(["--out", join(folder, "images"), "--node-base", base], {
    env: {},
    stdout: { write: () => undefined },
    stderr: { write: (text) => t.match(text, /refit\.mjs.*npm run build/) },
    signal: new AbortController().signal,
    dist: join(folder, "none"),
  });
  t.equal(bare, 1);
  t.notOk(existsSync(join(folder, "images")));
});
