/** What both bundles are made with: published plugins, and types erased as Node itself erases them. */
import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import commonjs from "@rollup/plugin-commonjs";
import json from "@rollup/plugin-json";
import nodeResolve from "@rollup/plugin-node-resolve";
import terser from "@rollup/plugin-terser";
import license from "rollup-plugin-license";
import { eraseTypes } from "./erase_types.ts";
import { nodeCheck } from "./node_check.ts";
import { noticesOf } from "./notices.ts";

/**
 * `debug` colours its lines by this where it is installed. Only tools of ours bring it: bundles would hold it or not by what
 * tools are there.
 */
const withoutOptional = {
  name: "without-optional",
  resolveId: (id) => (id === "supports-color" ? "\0supports-color" : null),
  load: (id) => (id === "\0supports-color" ? "export default {};" : null),
};

const ownLicence = readFileSync(new URL("../LICENSE", import.meta.url), "utf8");

/** `noticesFile` gets the licences of what the bundle holds, and of `others`, which it carries as text. */
export const plugins = (noticesFile, others = []) => [
  withoutOptional,
  nodeResolve({
    preferBuiltins: true,
    exportConditions: ["node"],
    extensions: [".ts", ".mjs", ".js", ".cjs", ".json"],
  }),
  json(),
  // Packages in CommonJS ask for some built-ins only when they use them: such a `require` stays one.
  commonjs({ ignore: isBuiltin, ignoreDynamicRequires: true }),
  eraseTypes,
  // Comments and white space go, names stay for traces. Node keeps the text of what it runs, and text that is all ASCII
  // takes half the memory.
  terser({ module: true, compress: false, mangle: false, format: { ascii_only: true, comments: false } }),
  license({
    thirdParty: {
      multipleVersions: true,
      output: { file: noticesFile, template: (bundled) => noticesOf(ownLicence, [...bundled, ...others]) },
    },
  }),
];

/** What `require` is in the parts that were CommonJS. */
export const requireBanner =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';

const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

/** Before the code of a bundle of one file. */
export const nodeCheckBanner = (program) => nodeCheck(program, engines.node);

const isOfPackage = (id) => id.includes("/node_modules/");

/** Packages may have cycles and `this` at the top of a module; any other warning fails the build. */
export function onwarn(warning) {
  const { code, id = "", ids = [] } = warning;
  if (code === "CIRCULAR_DEPENDENCY" && ids.some(isOfPackage)) return;
  if (code === "THIS_IS_UNDEFINED" && isOfPackage(id)) return;
  throw Object.assign(new Error(warning.message), warning);
}
