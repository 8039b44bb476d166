/** Programs of the machine that some tests need. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

/** What .ci/test_tools builds is here; the PATH goes before it. */
const builtFolder = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "refit", "bin");

/** Path of a program, or undefined. */
export function programPath(name: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), builtFolder];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Why a test is skipped that needs the program, or false. */
export function missing(name: string): string | false {
  return (
    programPath(name) === undefined && `there is no ${name} on the PATH, and .ci/test_tools has got none`
  );
}
