/** What all bundles share: types are erased, parts of packages that never run stay out. */
import { isBuiltin, stripTypeScriptTypes } from "node:module";
import { brotliCompressSync } from "node:zlib";
import commonjs from "@rollup/plugin-commonjs";
import json from "@rollup/plugin-json";
import nodeResolve from "@rollup/plugin-node-resolve";
import terser from "@rollup/plugin-terser";
import { rollup } from "rollup";

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

/**
 * Parts of packages that never run here. client-node makes requests of its own with undici, and agents for proxies; here
 * it only reads kubeconfigs.
 */
export const unusedParts = {
  undici: `export class Agent {}
export class ProxyAgent {}
export const fetch = globalThis.fetch;`,
  hpagent: `export class HttpProxyAgent {}
export class HttpsProxyAgent {}`,
  socks: "export class SocksClient {}",
  "socks-proxy-agent": "export class SocksProxyAgent {}",
};

/** CommonJS parts of packages ask for built-ins by `require`. */
export const requireBanner =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';

const builtinPrefix = "\0builtin:";
const isBuiltinFacade = (id) => id.startsWith(builtinPrefix);

/** Made anew for every build: the plugins remember what they have seen. */
export const resolving = () => [
  nodeResolve({
    preferBuiltins: true,
    exportConditions: ["node", "import", "default"],
    extensions: [".ts", ".mjs", ".js", ".cjs", ".json"],
  }),
  json(),
  // A namespace of a built-in module would read, and with that evaluate, all its exports: `lazyBuiltins` says why not.
  commonjs({ ignoreDynamicRequires: true, requireReturnsDefault: isBuiltinFacade }),
  eraseTypes,
];

/**
 * An `import` of a built-in module evaluates all its exports, also those that Node makes on first use: `node:http`
 * brings a whole WebSocket client, 11 MB resident. Asked for at run time, only what is used is made. Runs on Node and Deno.
 */
export const lazyBuiltins = {
  name: "lazy-builtins",
  resolveId(id) {
    if (!isBuiltin(id)) return null;
    return {
      id: `${builtinPrefix}node:${id.replace(/^node:/, "")}`,
      moduleSideEffects: false,
      syntheticNamedExports: true,
    };
  },
  load: (id) =>
    isBuiltinFacade(id)
      ? `export default globalThis.process.getBuiltinModule(${JSON.stringify(id.slice(builtinPrefix.length))});`
      : null,
};

/** Shorter names and no white space; the text stays ASCII, which takes half the memory of anything else. */
export const minified = (more) =>
  terser({ ecma: 2020, compress: { passes: 1 }, format: { ascii_only: true }, ...more });

/** In base64, as a string literal can hold it. */
const compressed = (text) => brotliCompressSync(text).toString("base64");

/**
 * For bundles of one file: what is imported with `import()` becomes a function in the same file that is evaluated at its
 * first use, instead of with everything else at the start. Until then it is compressed text: a runtime keeps the whole
 * text of a module, and a byte of it costs more than two resident. Only functions of own modules can be imported that
 * way. Own modules that the rest of the bundle has too are handed in, so that no class exists twice.
 */
export function evaluatedLate(isShared, plugins) {
  const prefix = "\0late:";
  return {
    name: "evaluated-late",
    async resolveDynamicImport(specifier, importer) {
      if (typeof specifier !== "string" || isBuiltin(specifier)) return null;
      const found = await this.resolve(specifier, importer);
      return found === null || !found.id.endsWith(".ts") ? null : { id: prefix + found.id };
    },
    async load(id) {
      if (!id.startsWith(prefix)) return null;
      const entry = id.slice(prefix.length);
      const shared = new Map();
      const nameOf = (module) => {
        if (!shared.has(module)) shared.set(module, `shared${shared.size}`);
        return shared.get(module);
      };
      const bundle = await rollup({
        input: entry,
        external: (one, _, resolved) => resolved && one !== entry && isShared(one),
        treeshake: { moduleSideEffects: false },
        plugins: plugins(),
      });
      const { output } = await bundle.generate({
        format: "iife",
        name: "late",
        inlineDynamicImports: true,
        globals: nameOf,
        generatedCode: "es2015",
        exports: "named",
        plugins: [minified({ module: false })],
      });
      await bundle.close();
      for (const watched of bundle.watchFiles) this.addWatchFile(watched);
      const imports = [...shared].map(
        ([module, name]) => `import * as ${name} from ${JSON.stringify(module)};`,
      );
      const text = `${output[0].code}\nreturn late;`;
      const exported = output[0].exports.map(
        (name) => `export const ${name} = (...given) => (made ??= make()).${name}(...given);`,
      );
      return `${imports.join("\n")}
let made;
function make() {
  const { brotliDecompressSync } = globalThis.process.getBuiltinModule("node:zlib");
  const text = brotliDecompressSync(Buffer.from(${JSON.stringify(compressed(text))}, "base64"));
  return new Function(${["require", ...shared.values()].map((name) => JSON.stringify(name)).join()}, String(text))(
    ${["require", ...shared.values()].join()}
  );
}
${exported.join("\n")}`;
    },
  };
}

/**
 * Packages that a process may never need, each as a file of its own that is read when one of its exports is used first.
 * Unlike `import()` this is synchronous, so that pure functions can use them. The default export of such a package must be an
 * object. Package names that `node_modules` resolves.
 */
export function evaluatedAtFirstUse(names, plugins) {
  const prefix = "\0first-use:";
  return {
    name: "evaluated-at-first-use",
    resolveId: (id) =>
      names.includes(id) ? { id: prefix + id, moduleSideEffects: false, syntheticNamedExports: true } : null,
    async load(id) {
      if (!id.startsWith(prefix)) return null;
      const name = id.slice(prefix.length);
      const bundle = await rollup({
        input: name,
        external: isBuiltin,
        treeshake: { moduleSideEffects: false },
        plugins: plugins(),
        onwarn: () => undefined,
      });
      const { output } = await bundle.generate({
        format: "cjs",
        inlineDynamicImports: true,
        exports: "auto",
      });
      await bundle.close();
      const file = this.emitFile({
        type: "asset",
        fileName: `refit/${name.replace(/\W+/g, "-")}.cjs`,
        source: output[0].code,
      });
      return `const { createRequire } = globalThis.process.getBuiltinModule("node:module");
const { fileURLToPath } = globalThis.process.getBuiltinModule("node:url");
let made;
const read = () => (made ??= createRequire(import.meta.url)(fileURLToPath(import.meta.ROLLUP_FILE_URL_${file})));
const memberOf = (all, name) => (name in all || all.default === undefined ? all[name] : all.default[name]);
export default new Proxy({}, { get: (_, name) => memberOf(read(), name) });`;
    },
  };
}
