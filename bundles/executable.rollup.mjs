/**
 * The script of the executable, made of the modules that ship: an executable of Node 24 runs one CommonJS script, which can
 * load no other file.
 */
import { isBuiltin } from "node:module";
import { joinedChunks } from "./joined_chunks.ts";
import { onwarn } from "./plugins.mjs";

const entry = "refit.cjs";

const joinChunks = {
  name: "join-chunks",
  // Chunks make a `require` of built-in modules with it, which needs no file. No program is at this path.
  resolveImportMeta: (property) => (property === "url" ? '"file:///dev/null/refit"' : null),
  generateBundle(_options, bundle) {
    const chunks = Object.values(bundle).filter((file) => file.type === "chunk");
    const code = joinedChunks(entry, chunks);
    for (const { fileName } of chunks) if (fileName !== entry) delete bundle[fileName];
    bundle[entry].code = code;
  },
};

export default {
  input: { refit: "dist/refit.mjs" },
  output: {
    dir: "node_modules/.cache/executable",
    format: "cjs",
    entryFileNames: "[name].cjs",
    chunkFileNames: "[name]-[hash].cjs",
    // Built-in modules are required, too: with a code cache an executable cannot import.
    dynamicImportInCjs: false,
  },
  external: isBuiltin,
  // The modules hold nothing that is not used.
  treeshake: false,
  plugins: [joinChunks],
  onwarn,
};
