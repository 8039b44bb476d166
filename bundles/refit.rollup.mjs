/** The command line with the controller: each command loads only its own chunks. `npm run build`. */
import { isBuiltin } from "node:module";
import { onwarn, plugins, requireBanner } from "./plugins.mjs";

export default {
  input: { refit: "cli/main.ts" },
  output: {
    dir: "dist",
    format: "es",
    entryFileNames: "[name].mjs",
    chunkFileNames: "refit/[name]-[hash].mjs",
    banner: requireBanner,
    sourcemap: true,
  },
  external: isBuiltin,
  plugins: plugins("dist/refit.NOTICES.txt"),
  onwarn,
};
