/**
 * The page from its sources, each module on its own, with types erased as Node erases them. In what ships, a bundle of these
 * modules stands in place of this file (bundles/page.mjs).
 */
import { readdir, readFile } from "node:fs/promises";
import { createRequire, stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";

/** What the page imports of lit-html, and what that imports. */
const libraryFiles = ["lit-html.js", "directive.js", "directive-helpers.js", "directives/repeat.js"];

/** Text by path; `/page/main.js` is the entry. */
export async function pageFiles(): Promise<Readonly<Record<string, string>>> {
  const files: Record<string, string> = {};
  for (const folder of ["page", "shared"]) {
    const from = join(import.meta.dirname, folder);
    for (const name of (await readdir(from)).filter((each) => !/(_test|\.d)\.ts$/.test(each))) {
      const text = await readFile(join(from, name), "utf8");
      if (name === "index.html") files["/index.html"] = text;
      else if (name.endsWith(".ts")) files[`/${folder}/${name.slice(0, -3)}.js`] = moduleText(text);
      else files[`/${folder}/${name}`] = text;
    }
  }
  Object.assign(files, await selectorFiles());
  // What Node resolves is the half for servers, in a folder beside the files for browsers.
  const library = join(dirname(createRequire(import.meta.url).resolve("lit-html")), "..");
  for (const name of libraryFiles) {
    const text = await readFile(join(library, name), "utf8");
    files[`/lit-html/${name}`] = text.replace(/\n\/\/# sourceMappingURL=.*/, "");
  }
  return files;
}

/** Label selectors, and what they are made of: `../../../kube` of a module in `/shared` ends at the root of the page. */
async function selectorFiles(): Promise<Readonly<Record<string, string>>> {
  const folder = join(import.meta.dirname, "../../kube/core");
  const files: Record<string, string> = {};
  const names = new Set(["label_selectors"]);
  for (const name of names) {
    const text = moduleText(await readFile(join(folder, `${name}.ts`), "utf8"));
    files[`/kube/core/${name}.js`] = text;
    for (const [, imported = ""] of text.matchAll(/ from "\.\/([a-z_]+)\.js"/g)) names.add(imported);
  }
  return files;
}

function moduleText(text: string): string {
  return stripTypeScriptTypes(text)
    .replaceAll(/(from ")(\.{1,2}\/[^"]+)\.ts"/g, '$1$2.js"')
    .replaceAll('from "lit-html"', 'from "/lit-html/lit-html.js"')
    .replaceAll('from "lit-html/', 'from "/lit-html/');
}
