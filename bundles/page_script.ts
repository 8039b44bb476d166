/** The page of `refit ui` with its modules in one script: a browser asks once, not for each module and then for what that imports. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import { type Plugin, rollup } from "rollup";
import { eraseTypes } from "./erase_types.ts";

const folder = join(import.meta.dirname, "../cli/ui/page");

/** Text by path, as from `pageFiles` of cli/ui/page_files.ts. `more`: plugins for what ships. */
export async function pageFilesInOne(more: readonly Plugin[] = []): Promise<Record<string, string>> {
  const text = (name: string): Promise<string> => readFile(join(folder, name), "utf8");
  return {
    "/index.html": await text("index.html"),
    "/page/style.css": await text("style.css"),
    "/page/icon.svg": await text("icon.svg"),
    "/page/main.js": await scriptOf(more),
  };
}

async function scriptOf(more: readonly Plugin[]): Promise<string> {
  const bundle = await rollup({
    input: join(folder, "main.ts"),
    plugins: [nodeResolve({ browser: true, extensions: [".ts", ".mjs", ".js"] }), eraseTypes, ...more],
  });
  const { output } = await bundle.generate({ format: "es" });
  await bundle.close();
  return output[0].code;
}
