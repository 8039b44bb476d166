/** The command line with the controller as one file that needs nothing else: its script inside Node itself. */
import { copyFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { controllerNodeFlags } from "../cli/index.ts";
import { BundleError } from "./errors.ts";
import { runProgram } from "./run_program.ts";
import type { Runtime } from "./runtime.ts";

/** `refit-linux-x64`. */
export const executableName = `refit-${process.platform}-${process.arch}`;

/** A text inside Node with a digit behind it: Node looks for a script of its own only if that is 1, which postject sets. */
const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

/** Makes the script `refit.cjs` in `work` from the modules that `entry` loads. Throws BundleError when rollup fails or warns. */
export function makeScript(entry: string, work: string): void {
  const config = join(import.meta.dirname, "executable.rollup.mjs");
  runProgram("rollup", ["--config", config, "--configModules", entry, "--configWork", work]);
}

/**
 * Makes `target` of the script `refit.cjs` in `work`, for the platform that this runs on. Rejects with BundleError; then there
 * is no `target`.
 */
export async function makeExecutable(work: string, target: string, runtime: Runtime): Promise<void> {
  if (process.platform !== "linux")
    throw new BundleError(
      `executables are made on Linux, this is ${process.platform}; the modules run on any`,
    );
  await rm(target, { force: true });
  await writeFile(join(work, "sea.json"), JSON.stringify(settings));
  // V8 takes a cache of code only with the flags that it was made with, but for the seed: with one its bytes repeat.
  runProgram(
    runtime.file,
    [...controllerNodeFlags, "--random-seed=1", "--experimental-sea-config", "sea.json"],
    {
      cwd: work,
    },
  );
  const unfinished = `${target}.part`;
  try {
    await copyFile(runtime.file, unfinished);
    runProgram("postject", [
      unfinished,
      "NODE_SEA_BLOB",
      join(work, settings.output),
      "--sentinel-fuse",
      fuse,
    ]);
    await rename(unfinished, target);
  } finally {
    await rm(unfinished, { force: true });
  }
}

const settings = {
  main: "refit.cjs",
  output: "refit.blob",
  disableExperimentalSEAWarning: true,
  useCodeCache: true,
  execArgv: controllerNodeFlags,
};
