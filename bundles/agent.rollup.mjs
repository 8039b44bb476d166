/**
 * The agent as one file that Node and Deno run unchanged: `npx rollup -c bundles/agent.rollup.mjs`.
 * Credentials from a kubeconfig and the YAML parser are loaded only when they are needed, from the same file.
 */
import { stripTypeScriptTypes } from "node:module";
import commonjs from "@rollup/plugin-commonjs";
import json from "@rollup/plugin-json";
import nodeResolve from "@rollup/plugin-node-resolve";
import terser from "@rollup/plugin-terser";

/** Types are erased, nothing else changes: the sources have no syntax that needs a compiler. */
const eraseTypes = {
  name: "erase-types",
  transform(code, id) {
    return id.endsWith(".ts") ? { code: stripTypeScriptTypes(code, { mode: "strip" }), map: null } : null;
  },
};

/**
 * Parts of packages that the agent never runs. undici's index brings fetch, WebSocket, caches and mocks; client-node
 * asks it for two classes. grpc-js loads .proto files for channelz, which is off.
 */
const narrowed = {
  undici: `import Agent from "undici/lib/dispatcher/agent.js";
import ProxyAgent from "undici/lib/dispatcher/proxy-agent.js";
const fetch = globalThis.fetch;
export { Agent, ProxyAgent, fetch };`,
  // It lists the whole environment when it is loaded, which the agent has no permission for.
  debug: `const silent = () => Object.assign(() => undefined, { enabled: false, extend: silent });
export default silent;`,
  "@grpc/proto-loader": `export function loadSync() { throw new Error("loading .proto files is not part of this bundle"); }`,
};
const narrowParts = {
  name: "narrow-parts",
  resolveId: (id) => (Object.hasOwn(narrowed, id) ? `\0narrowed:${id}` : null),
  load: (id) => (id.startsWith("\0narrowed:") ? narrowed[id.slice("\0narrowed:".length)] : null),
};

/** CommonJS parts of packages ask for built-ins by `require`. */
const banner =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';

export default {
  input: "agent/main.ts",
  output: {
    file: "dist/agent.mjs",
    format: "es",
    inlineDynamicImports: true,
    banner,
    generatedCode: "es2015",
  },
  external: (id) => id.startsWith("node:"),
  treeshake: { moduleSideEffects: false },
  plugins: [
    narrowParts,
    nodeResolve({
      preferBuiltins: true,
      exportConditions: ["node", "import", "default"],
      extensions: [".ts", ".mjs", ".js", ".cjs", ".json"],
    }),
    eraseTypes,
    json(),
    commonjs({ ignoreDynamicRequires: true, strictRequires: true }),
    terser({ module: true, ecma: 2020, compress: { passes: 1 } }),
  ],
  onwarn(warning, warn) {
    if (["CIRCULAR_DEPENDENCY", "THIS_IS_UNDEFINED"].includes(warning.code)) return;
    warn(warning);
  },
};
