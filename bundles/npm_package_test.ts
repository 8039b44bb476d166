import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { installNpmPackage, makeNpmPackage, npmPackageName, packageDescription } from "./npm_package.ts";

const root = join(import.meta.dirname, "..");
const project = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

t.test(
  "installed without a registry, the package brings the program, its chunks and nothing else",
  async (t) => {
    const folder = t.testdir({
      dist: {
        "refit.mjs": `#!/usr/bin/env node\nimport("./refit/words.mjs").then(({ say }) => say(process.argv.slice(2)));`,
        "refit.mjs.map": "{}",
        refit: {
          "words.mjs": `export const say = (words) => console.log(words.join("+"));`,
          "words.mjs.map": "{}",
        },
        "refit.NOTICES.txt": "notices",
        man: { "refit.1": ".TH REFIT 1" },
      },
      installed: {},
    });
    await makeNpmPackage(root, join(folder, "dist"), project);
    const tarball = join(folder, "dist", npmPackageName);
    const made = readFileSync(tarball);
    const refit = installNpmPackage(tarball, join(folder, "installed"));
    t.equal(refit(["up", "--help"]), "up+--help\n");
    const installed = join(folder, "installed/node_modules/refit");
    t.throws(() => readFileSync(join(installed, "refit/words.mjs.map")), { code: "ENOENT" });
    t.equal(readFileSync(join(installed, "NOTICES.txt"), "utf8"), "notices");
    await makeNpmPackage(root, join(folder, "dist"), project);
    t.ok(readFileSync(tarball).equals(made), "the same bytes again");
  },
);

t.test("it has the programs of the project, and asks for its Node", async (t) => {
  const description = packageDescription(project);
  t.match(description, {
    name: "refit",
    version: project.version,
    bin: { refit: "refit.mjs", "kubectl-refit": "refit.mjs" },
    engines: project.engines,
  });
  for (const kept of ["private", "dependencies", "devDependencies", "scripts"])
    t.notOk(Object.hasOwn(description, kept), kept);
});
