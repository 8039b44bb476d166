import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { compileFunction } from "node:vm";
import t, { type Test } from "tap";
import { joining, makeScript } from "./executable.ts";

/**
 * Makes the script of modules by their files, `refit.mjs` first, and runs it as an executable does. Resolves to what they noted;
 * `required` gets the built-in modules that they load.
 */
async function noted(
  t: Test,
  modules: Readonly<Record<string, string>>,
  required: string[] = [],
): Promise<unknown[]> {
  const folder = t.testdir({ modules, work: {} });
  makeScript(join(folder, "modules/refit.mjs"), join(folder, "work"));
  const script = readFileSync(join(folder, "work/refit.cjs"), "utf8");
  const notes: unknown[] = [];
  const run = compileFunction(script, ["require", "module", "note"]);
  const require = (name: string): unknown => {
    required.push(name);
    return builtIns(name);
  };
  run(require, { exports: {} }, (value: unknown) => notes.push(value));
  await turn();
  return notes;
}

/** An executable gives no others. */
const builtIns = createRequire("file:///dev/null/refit");

t.test("a chunk runs when it is first imported, and once", async (t) => {
  const notes = await noted(t, {
    "refit.mjs": `#!/usr/bin/env node
note("refit");
import("./b.mjs").then(async (b) => note([b.name, (await import("./b.mjs")) === b]));
export const rare = () => import("./c.mjs");`,
    "b.mjs": `note("b"); export const name = "name of b";`,
    "c.mjs": `note("c");`,
  });
  t.same(notes, ["refit", "b", ["name of b", true]]);
});

t.test("built-in modules are Node's, also those that a chunk requires itself", async (t) => {
  const notes = await noted(t, {
    "refit.mjs": `#!/usr/bin/env node
import { createRequire } from "node:module"; const require = createRequire(import.meta.url);
import { posix } from "node:path";
note(posix.join("x", "y"));
note(require("node:os").EOL);
try { require("tap"); } catch (error) { note(error.code); }
import("node:path").then(({ sep }) => note(sep));`,
  });
  t.same(notes, ["x/y", "\n", "MODULE_NOT_FOUND", "/"]);
});

t.test("a built-in module is loaded when a chunk needs it", async (t) => {
  const required: string[] = [];
  const modules = {
    "refit.mjs": `#!/usr/bin/env node
import { basename } from "node:path";
note(basename("x/y"));
export const rare = () => import("./rare.mjs");`,
    "rare.mjs": `import { platform } from "node:os"; export const say = () => note(platform());`,
  };
  t.same(await noted(t, modules, required), ["y"]);
  t.same(required, ["node:path"]);
});

t.test("chunks may need each other", async (t) => {
  const notes = await noted(t, {
    "refit.mjs": `#!/usr/bin/env node\nimport("./main.mjs").then(({ run }) => run());`,
    "main.mjs": `export const word = () => "of main"; export const run = async () => (await import("./rare.mjs")).say();`,
    "rare.mjs": `import { word } from "./main.mjs"; export const say = () => note(word());`,
  });
  t.same(notes, ["of main"]);
});

t.test("what rollup warns of makes no script", async (t) => {
  const modules = { "refit.mjs": `#!/usr/bin/env node\nimport "left-out"; note(1);` };
  await t.rejects(noted(t, modules), { name: "BundleError" });
});

t.test("on macOS the signature of Node goes and an own one comes, around what is put in", async (t) => {
  const [remove, inject, sign] = joining("darwin", "refit", "blob");
  t.same(remove, ["codesign", "--remove-signature", "refit"]);
  t.same(inject?.slice(0, 4), ["postject", "refit", "NODE_SEA_BLOB", "blob"]);
  t.same(inject?.slice(-2), ["--macho-segment-name", "NODE_SEA"]);
  t.same(sign, ["codesign", "--sign", "-", "--identifier", "refit", "refit"]);
  t.same(joining("linux", "refit", "blob"), [inject?.slice(0, -2)]);
  t.throws(() => joining("win32", "refit", "blob"), { name: "BundleError", message: /this is win32/ });
});
