/**
 * The page of `refit ui` as one script. It goes into the program as text, in place of the module that reads its sources: an
 * executable can load no file.
 */
import { join } from "node:path";
import license from "rollup-plugin-license";
import { pageFilesInOne } from "./page_script.ts";
import { smaller } from "./smaller.mjs";

const replaced = join(import.meta.dirname, "../cli/ui/page_files.ts");

/** `packages` fills while the plugin works: what the script holds of others. */
export const pageBundle = () => {
  const packages = [];
  const licences = license({
    thirdParty: { multipleVersions: true, output: (bundled) => packages.push(...bundled) },
  });
  const plugin = {
    name: "page",
    async load(id) {
      if (id !== replaced) return null;
      return `export const pageFiles = async () => (${JSON.stringify(await pageFilesInOne([smaller, licences]))});`;
    },
  };
  return { packages, plugin };
};
