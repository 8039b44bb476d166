/** Results as files: read, written, and asked for before a bench begins that takes an hour. */
import { accessSync, constants, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { BenchError, messageOf } from "./errors.ts";
import type { BenchIo } from "./io.ts";
import { parseResult, type ResultFile } from "./measure/result.ts";

/** Throws BenchError that names the file. */
export function readResult(path: string): ResultFile {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new BenchError(`${path} cannot be read: ${messageOf(error)}`);
  }
  return parseResult(text, path);
}

/** Throws BenchError for a path that cannot be written to. Nothing is made. */
export function checkWritable(path: string | undefined): void {
  if (path === undefined) return;
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw new BenchError(`${path} cannot be written: it is a folder`);
  const folder = dirname(resolve(path));
  if (found === undefined && statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new BenchError(`${path} cannot be written: there is no folder ${folder}`);
  try {
    accessSync(found === undefined ? folder : path, constants.W_OK);
  } catch (error) {
    throw new BenchError(`${path} cannot be written: ${messageOf(error)}`);
  }
}

export function write(path: string, text: string, io: BenchIo): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    throw new BenchError(`${path} cannot be written: ${messageOf(error)}`);
  }
  io.note(`written: ${path}`);
}
