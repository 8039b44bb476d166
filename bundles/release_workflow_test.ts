import { execFileSync } from "node:child_process";
import { chmodSync, globSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { parse } from "yaml";
import { writeChecksums } from "./checksums.ts";
import { krewPlatforms } from "./krew.ts";

const root = join(import.meta.dirname, "..");
const text = readFileSync(join(root, ".github/workflows/release.yml"), "utf8");

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface Job {
  readonly steps: readonly Step[];
  readonly env?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: { readonly include: readonly { arch: string; runner: string }[] } };
}

const { jobs }: { jobs: Readonly<Record<string, Job>> } = parse(text);
const steps = Object.values(jobs).flatMap((job) => job.steps);

t.test("the scripts that it runs are there", async (t) => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  const run = steps.flatMap((step) => [
    ...(step.run ?? "").matchAll(/npm (?:run )?(?:--silent )?([a-z:]+)/g),
  ]);
  const names = new Set(run.map(([, name = ""]) => name).filter((name) => name !== "ci"));
  t.same([...names].sort(), [
    "bundle",
    "check:advisories",
    "images",
    "krew",
    "lint",
    "release:check",
    "test",
    "typecheck",
  ]);
  for (const name of names) t.ok(scripts[name], name);
});

t.test("actions are pinned to commits, with their version beside", async (t) => {
  const used = steps.flatMap((step) => step.uses ?? []);
  t.ok(used.length > 5);
  for (const action of used) t.match(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
  for (const line of text.split("\n").filter((one) => one.includes("uses:")))
    t.match(line, / # v\d+\.\d+\.\d+$/);
});

t.test("every image is pushed, on the bases of the Containerfiles", async (t) => {
  const files = globSync("*.Containerfile", { cwd: import.meta.dirname });
  const env = jobs["images"]?.env ?? {};
  t.same(env["IMAGES"]?.split(" ").sort(), files.map((file) => file.replace(".Containerfile", "")).sort());
  for (const file of files) {
    const [, base] =
      /^ARG \w+_IMAGE=(.+)$/m.exec(readFileSync(join(import.meta.dirname, file), "utf8")) ?? [];
    t.ok([env["NODE_BASE"], env["DENO_BASE"]].includes(base), `${file}: ${base}`);
  }
});

t.test(
  "the chart that is published names the images that are pushed, and is a file of the release",
  async (t) => {
    const [push, pack] = ["skopeo copy", "helm package"].map((word) =>
      steps.find(({ run }) => run?.includes(word)),
    );
    t.match(push?.run, /docker:\/\/\$registry\/\$image:\$\{GITHUB_REF_NAME#v\}/);
    t.match(push?.run, /echo "registry=\$registry"/);
    t.match(pack?.run, /node tools\/release_chart\.ts --registry "\$REGISTRY" --out chart\/refit\n/);
    t.match(pack?.env?.["REGISTRY"], /^\$\{\{ steps\.push\.outputs\.registry \}\}$/);
    t.match(
      jobs["release"]?.steps.map(({ run }) => run).join("\n"),
      /cp "built\/chart\/refit-\$\{GITHUB_REF_NAME#v\}\.tgz" "release\/refit-chart-/,
    );
  },
);

t.test("bases are digests, and nothing is built without an answer about advisories", async (t) => {
  const build = steps.find(({ run }) => run?.includes("npm run images"))?.run ?? "";
  t.match(build, /--require-digests/);
  t.match(build, /--node-base "\$NODE_BASE_DIGEST" --deno-base "\$DENO_BASE_DIGEST"/);
  const resolved = steps.find(({ run }) => run?.includes("skopeo inspect"))?.run ?? "";
  t.match(resolved, /for name in NODE_BASE DENO_BASE; do/);
  t.ok(jobs["build"]?.steps.some(({ run }) => run === "npm run check:advisories -- --require"));
});

const platforms = krewPlatforms.map(({ archive }) => archive.replace(/^refit-(.+)\.tar\.gz$/, "$1"));

t.test("each executable is built on its own system and processor", async (t) => {
  const built = (["build", "macos"] as const).flatMap((job) => {
    const system = job === "build" ? "linux" : "darwin";
    return (jobs[job]?.strategy?.matrix.include ?? []).map(({ arch }) => `${system}-${arch}`);
  });
  t.same(built, platforms);
  t.match(text, /name: dist-linux-\$\{\{ matrix\.arch \}\}/);
  t.match(text, /name: dist-darwin-\$\{\{ matrix\.arch \}\}/);
});

t.test("macOS gets the Node of the lock file, of which its executable is made", async (t) => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const macos = text.slice(text.indexOf("  macos:"), text.indexOf("  images:"));
  t.ok(macos.includes(`node-version: ${packages["node_modules/node"].version},`));
});

/** dist/ of a platform, in small. */
const builtOn = (platform: string) => ({
  [`refit-${platform}`]: `executable of ${platform}`,
  [`refit-${platform}.NOTICES.txt`]: `notices of ${platform}`,
  "refit.mjs": "modules",
  "refit.cdx.json": "{}",
  "refit-npm.tgz": "package",
  completion: { "kubectl_complete-refit": "" },
});

/** Runs the step that lays the files out, in a folder with what it needs; resolves to that folder. */
async function laidOut(t: Test): Promise<string> {
  const built = Object.fromEntries(platforms.map((platform) => [`dist-${platform}`, builtOn(platform)]));
  const chart = { "refit-0.1.0.tgz": "chart" };
  const folder = t.testdir({ built: { ...built, chart }, bin: { git: "#!/bin/sh\necho 1700000000\n" } });
  for (const platform of platforms) await writeChecksums(join(folder, `built/dist-${platform}`));
  chmodSync(join(folder, "bin/git"), 0o755);
  for (const shared of ["package.json", "bundles", "CHANGELOG.md"])
    symlinkSync(join(root, shared), join(folder, shared));
  const script = steps.find(({ name }) => name === "lay out the files of the release")?.run ?? "";
  const path = [join(folder, "bin"), dirname(process.execPath), process.env["PATH"]].join(":");
  execFileSync("bash", ["-e", "-o", "pipefail", "-c", script], {
    cwd: folder,
    env: {
      ...process.env,
      PATH: path,
      GITHUB_REF_NAME: "v0.1.0",
      GITHUB_SERVER_URL: "https://github.com",
      GITHUB_REPOSITORY: "owner/refit",
    },
  });
  return folder;
}

t.test("the release has every file, each with its checksum", async (t) => {
  const folder = await laidOut(t);
  const release = join(folder, "release");
  const files = [
    ...krewPlatforms.map(({ archive }) => archive),
    "refit-0.1.0.tar.gz",
    "refit-chart-0.1.0.tgz",
    "refit-npm.tgz",
    "refit-krew.yaml",
    "refit.cdx.json",
  ].sort();
  t.same(readdirSync(release).sort(), ["SHA256SUMS", ...files]);
  const sums = readFileSync(join(release, "SHA256SUMS"), "utf8");
  t.same(sums.match(/(?<= {2}).+$/gm)?.sort(), files);
  execFileSync("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: release });
});

t.test("what krew downloads holds the executable, as krew's manifest says", async (t) => {
  const folder = await laidOut(t);
  const { spec } = parse(readFileSync(join(folder, "release/refit-krew.yaml"), "utf8"));
  const base = "https://github.com/owner/refit/releases/download/v0.1.0/";
  const sums = readFileSync(join(folder, "release/SHA256SUMS"), "utf8");
  for (const [index, { uri, sha256, bin }] of spec.platforms.entries()) {
    const platform = platforms[index] ?? "";
    t.equal(uri, `${base}refit-${platform}.tar.gz`);
    t.ok(sums.includes(`${sha256}  refit-${platform}.tar.gz\n`), platform);
    const unpacked = join(folder, `unpacked-${platform}`);
    mkdirSync(unpacked);
    execFileSync("tar", ["-xzf", join(folder, `release/refit-${platform}.tar.gz`), "-C", unpacked]);
    t.same(readdirSync(unpacked).sort(), ["NOTICES.txt", "refit"]);
    t.equal(readFileSync(join(unpacked, bin), "utf8"), `executable of ${platform}`);
    execFileSync("test", ["-x", join(unpacked, bin)]);
  }
});
