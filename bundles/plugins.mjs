/** What all bundles share: types are erased, parts of packages that never run stay out. */
import { stripTypeScriptTypes } from "node:module";
import commonjs from "@rollup/plugin-commonjs";
import json from "@rollup/plugin-json";
import nodeResolve from "@rollup/plugin-node-resolve";

/** Nothing but types goes: the sources have no syntax that needs a compiler. */
export const eraseTypes = {
  name: "erase-types",
  transform(code, id) {
    return id.endsWith(".ts") ? { code: stripTypeScriptTypes(code, { mode: "strip" }), map: null } : null;
  },
};

/** Replaces packages by the parts of them that are used: a record of module name to source text. */
export function narrowed(parts) {
  return {
    name: "narrow-parts",
    resolveId: (id) => (Object.hasOwn(parts, id) ? `\0narrowed:${id}` : null),
    load: (id) => (id.startsWith("\0narrowed:") ? parts[id.slice("\0narrowed:".length)] : null),
  };
}

/** undici's index brings fetch, WebSocket, caches and mocks; client-node asks it for two classes. */
export const undiciParts = `import Agent from "undici/lib/dispatcher/agent.js";
import ProxyAgent from "undici/lib/dispatcher/proxy-agent.js";
const fetch = globalThis.fetch;
export { Agent, ProxyAgent, fetch };`;

/** CommonJS parts of packages ask for built-ins by \`require\`. */
export const requireBanner =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';

export const resolving = [
  nodeResolve({
    preferBuiltins: true,
    exportConditions: ["node", "import", "default"],
    extensions: [".ts", ".mjs", ".js", ".cjs", ".json"],
  }),
  json(),
  commonjs({ ignoreDynamicRequires: true }),
  eraseTypes,
];
