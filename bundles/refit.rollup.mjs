/** The command line with the controller, for production: each command loads only its own chunk. \`npm run build\`. */
import terser from "@rollup/plugin-terser";
import {
  evaluatedAtFirstUse,
  lazyBuiltins,
  narrowed,
  requireBanner,
  resolving,
  unusedParts,
} from "./plugins.mjs";

/**
 * Node keeps the text of what it runs: without comments it is half as long, and one letter beyond ASCII would double a file.
 * Names stay, for traces, and notices of licences that are ASCII.
 */
const minified = terser({
  module: true,
  ecma: 2020,
  compress: false,
  mangle: false,
  format: {
    ascii_only: true,
    comments: (_, { value }) => /@license|@preserve|^!/i.test(value) && /^[\s!-~]*$/.test(value),
  },
});

export default {
  input: { refit: "cli/main.ts" },
  output: {
    dir: "dist",
    format: "es",
    entryFileNames: "[name].mjs",
    chunkFileNames: "refit/[name]-[hash].mjs",
    banner: requireBanner,
    generatedCode: "es2015",
  },
  treeshake: { moduleSideEffects: (id) => id.includes("reflect-metadata") || id.includes("/cli/") },
  plugins: [
    evaluatedAtFirstUse(["cron-parser", "fast-json-patch", "pino", "yaml"], resolving),
    narrowed(unusedParts),
    lazyBuiltins,
    ...resolving(),
    minified,
  ],
};
