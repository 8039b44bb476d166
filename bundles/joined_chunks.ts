/** Chunks as functions of one CommonJS script: an executable can load no files, and should run only what a command needs. */

export interface CommonJsChunk {
  readonly fileName: string;
  readonly code: string;
  /** Files of the chunks that it requires when it runs. */
  readonly imports: readonly string[];
  /** Files of those that it requires later. */
  readonly dynamicImports: readonly string[];
}

/**
 * The script. Chunks `require` each other as `./file`; `entry` runs, each other one when it is first required. Anything else
 * that is required is a built-in module.
 */
export function joinedChunks(entry: string, chunks: readonly CommonJsChunk[]): string {
  const atStart = startingChunks(entry, chunks);
  const functions = chunks.map(({ fileName, code }) => {
    const body = code.startsWith("#!") ? code.slice(code.indexOf("\n")) : code;
    const text = `function (require, module, exports) {\n${body}\n}`;
    // V8 compiles what is in parentheses together with the script, so that its code is in the executable's cache.
    return `${nameOf(fileName)}: ${atStart.has(fileName) ? `(${text})` : text},\n`;
  });
  return `"use strict";
const chunks = {
${functions.join("")}};
const modules = new Map();
function load(name) {
  if (!Object.hasOwn(chunks, name)) return require(name);
  let module = modules.get(name);
  if (module === undefined) {
    module = { exports: {} };
    modules.set(name, module);
    chunks[name](load, module, module.exports);
  }
  return module.exports;
}
load(${nameOf(entry)});
`;
}

const nameOf = (fileName: string): string => JSON.stringify(`./${fileName}`);

/** What every command runs: the entry, which only checks and imports, and what it imports with all that needs. */
function startingChunks(entry: string, chunks: readonly CommonJsChunk[]): ReadonlySet<string> {
  const byFile = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const found = new Set([entry, ...(byFile.get(entry)?.dynamicImports ?? [])]);
  // A set gives what is added while it is walked, too.
  for (const file of found) for (const needed of byFile.get(file)?.imports ?? []) found.add(needed);
  return found;
}
