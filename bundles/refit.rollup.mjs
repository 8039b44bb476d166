/** The command line with the controller, for production: each command loads only its own chunk. \`npm run build\`. */
import { narrowed, requireBanner, resolving, undiciParts } from "./plugins.mjs";

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
  external: (id) => id.startsWith("node:"),
  treeshake: { moduleSideEffects: (id) => id.includes("reflect-metadata") || id.includes("/cli/") },
  plugins: [narrowed({ undici: undiciParts }), ...resolving()],
};
