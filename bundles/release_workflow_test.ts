import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { parse } from "yaml";

const root = join(import.meta.dirname, "..");
const text = readFileSync(join(root, ".github/workflows/release.yml"), "utf8");

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface Job {
  readonly steps: readonly Step[];
  readonly env?: Readonly<Record<string, string>>;
}

const { jobs }: { jobs: Readonly<Record<string, Job>> } = parse(text);
const steps = Object.values(jobs).flatMap((job) => job.steps);

t.test("the scripts that it runs are there", async (t) => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  const run = steps.flatMap((step) => [...(step.run ?? "").matchAll(/npm (?:run )?([a-z:]+)/g)]);
  const names = new Set(run.map(([, name = ""]) => name).filter((name) => name !== "ci"));
  t.same([...names].sort(), ["check:advisories", "images", "lint", "release:check", "test", "typecheck"]);
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
    t.match(jobs["release"]?.steps.map(({ run }) => run).join("\n"), /cp built\/chart\/\*\.tgz release\//);
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
