/** The command line with the controller: each command loads only its own chunks. `npm run build`. */
import { isBuiltin } from "node:module";
import { onwarn, plugins, requireBanner } from "./plugins.mjs";

export default {
  // It checks the version of Node before it loads the rest.
  input: { refit: "cli/bin.js" },
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
