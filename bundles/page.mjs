/**
 * The page of `refit ui` as one script. It goes into the program as text, in place of the module that reads its sources: an
 * executable can load no file.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import nodeResolve from "@rollup/plugin-node-resolve";
import terser from "@rollup/plugin-terser";
import { rollup } from "rollup";
import license from "rollup-plugin-license";
import { eraseTypes } from "./plugins.mjs";

const folder = join(import.meta.dirname, "../cli/ui");

/** `packages` fills while the plugin works: what the script holds of others. */
export const pageBundle = () => {
  const packages = [];
  const plugin = {
    name: "page",
    async load(id) {
      if (id !== join(folder, "page_files.ts")) return null;
      const files = { "/page/main.js": await scriptOf(packages) };
      for (const name of ["index.html", "style.css", "icon.svg"]) {
        const path = join(folder, "page", name);
        this.addWatchFile(path);
        files[name === "index.html" ? "/index.html" : `/page/${name}`] = await readFile(path, "utf8");
      }
      return `export const pageFiles = async () => (${JSON.stringify(files)});`;
    },
  };
  return { packages, plugin };
};

async function scriptOf(packages) {
  const bundle = await rollup({
    input: join(folder, "page/main.ts"),
    plugins: [
      nodeResolve({ browser: true, extensions: [".ts", ".mjs", ".js"] }),
      eraseTypes,
      terser({ module: true, ecma: 2022, format: { ascii_only: true, comments: false } }),
      license({ thirdParty: { multipleVersions: true, output: (bundled) => packages.push(...bundled) } }),
    ],
  });
  const { output } = await bundle.generate({ format: "es" });
  await bundle.close();
  return output[0].code;
}
