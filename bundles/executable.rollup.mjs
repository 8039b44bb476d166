/**
 * The script of the executable, made of the modules that ship: an executable of Node 24 runs one CommonJS script, which can load
 * no other file. Rollup's own inlining would run every module at the start, which takes twice the time. So the chunks become
 * CommonJS first, and then the plugin makes each of them a function that runs when it is first required.
 */
import { isBuiltin } from "node:module";
import { join } from "node:path";
import commonjs from "@rollup/plugin-commonjs";

/** Chunks make a `require` of built-in modules with it, which needs no file. No program is at this path. */
const withoutPath = {
  name: "without-path",
  resolveImportMeta: (property) => (property === "url" ? '"file:///dev/null/refit"' : null),
};

const common = {
  external: isBuiltin,
  // The modules hold nothing that is not used.
  treeshake: false,
  // Chunks may need each other.
  onwarn: (warning) => {
    if (warning.code !== "CIRCULAR_DEPENDENCY") throw Object.assign(new Error(warning.message), warning);
  },
};

/** `configModules`: their entry. `configWork`: the folder that gets `refit.cjs`. */
export default ({ configModules, configWork }) => [
  {
    ...common,
    input: configModules,
    output: {
      dir: join(configWork, "chunks"),
      format: "cjs",
      entryFileNames: "refit.cjs",
      chunkFileNames: "[name].cjs",
      // Built-in modules are required, too: with a code cache an executable cannot import.
      dynamicImportInCjs: false,
    },
    plugins: [withoutPath],
  },
  {
    ...common,
    input: join(configWork, "chunks/refit.cjs"),
    output: { file: join(configWork, "refit.cjs"), format: "cjs" },
    plugins: [commonjs({ ignore: isBuiltin })],
  },
];
