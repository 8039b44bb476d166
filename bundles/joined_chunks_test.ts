import { createRequire } from "node:module";
import { runInNewContext } from "node:vm";
import t from "tap";
import { type CommonJsChunk, joinedChunks } from "./joined_chunks.ts";

/** Runs a script; resolves to what its chunks noted, in order. */
function noted(entry: string, chunks: Readonly<Record<string, string>>): string[] {
  const notes: string[] = [];
  const require = createRequire(import.meta.url);
  runInNewContext(joinedChunks(entry, chunksOf(chunks)), {
    require,
    note: (text: string) => notes.push(text),
  });
  return notes;
}

function chunksOf(codes: Readonly<Record<string, string>>): CommonJsChunk[] {
  return Object.entries(codes).map(([fileName, code]) => ({
    fileName,
    code,
    imports: [],
    dynamicImports: [],
  }));
}

t.test("a chunk runs when it is first required, and once", async (t) => {
  const notes = noted("a.cjs", {
    "a.cjs": `#!/usr/bin/env node\nnote("a"); note(require("./b.cjs").name); note(require("./b.cjs").name);`,
    "b.cjs": `note("b"); exports.name = "name of b";`,
    "c.cjs": `note("c");`,
  });
  t.same(notes, ["a", "b", "name of b", "name of b"]);
});

t.test("built-in modules are Node's, and chunks may require each other", async (t) => {
  const notes = noted("a.cjs", {
    "a.cjs": `exports.first = "a"; require("./b.cjs"); note(require("node:path").posix.join("x", "y"));`,
    "b.cjs": `note(require("./a.cjs").first); module.exports = undefined;`,
  });
  t.same(notes, ["a", "x/y"]);
});

t.test("what is no chunk is no member of an object either", async (t) => {
  t.throws(() => noted("a.cjs", { "a.cjs": `require("toString")` }), /Cannot find module 'toString'/);
});

t.test("what every command runs is compiled with the script", async (t) => {
  const script = joinedChunks("entry.cjs", [
    { fileName: "entry.cjs", code: "", imports: [], dynamicImports: ["main.cjs"] },
    { fileName: "main.cjs", code: "", imports: ["part.cjs"], dynamicImports: ["rare.cjs"] },
    { fileName: "part.cjs", code: "", imports: ["main.cjs"], dynamicImports: [] },
    { fileName: "rare.cjs", code: "", imports: ["part.cjs"], dynamicImports: [] },
  ]);
  const compiled = [...script.matchAll(/^"(.*)": \(function/gm)].map(([, name]) => name);
  t.same(compiled, ["./entry.cjs", "./main.cjs", "./part.cjs"]);
});
