/** The command line with the controller: each command loads only its own chunks. `npm run build`. */
import { isBuiltin } from "node:module";
import { pageBundle } from "./page.mjs";
import { onwarn, plugins, requireBanner } from "./plugins.mjs";

const page = pageBundle();

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
  plugins: [page.plugin, ...plugins("dist/refit.NOTICES.txt", page.packages)],
  onwarn,
};
