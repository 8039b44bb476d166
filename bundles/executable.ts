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
  const unfinished = `${target}.part`;
  const steps = joining(process.platform, unfinished, join(work, settings.output));
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
  try {
    await copyFile(runtime.file, unfinished);
    for (const [program, ...argv] of steps) runProgram(program, argv);
    await rename(unfinished, target);
  } finally {
    await rm(unfinished, { force: true });
  }
}

type CommandLine = readonly [program: string, ...argv: string[]];

/**
 * What puts `blob` into `file`, a copy of Node. macOS runs only what is signed, and Node's signature is not about the result:
 * it gets one of its own, in nobody's name. Throws BundleError for a platform that no executable is made on.
 */
export function joining(platform: NodeJS.Platform, file: string, blob: string): readonly CommandLine[] {
  const inject = ["postject", file, "NODE_SEA_BLOB", blob, "--sentinel-fuse", fuse] as const;
  if (platform === "linux") return [inject];
  if (platform === "darwin")
    return [
      ["codesign", "--remove-signature", file],
      [...inject, "--macho-segment-name", "NODE_SEA"],
      // Without a name of its own it would have that of the file.
      ["codesign", "--sign", "-", "--identifier", "refit", file],
    ];
  throw new BundleError(
    `executables are made on Linux and macOS, this is ${platform}; the modules run on any`,
  );
}

const settings = {
  main: "refit.cjs",
  output: "refit.blob",
  disableExperimentalSEAWarning: true,
  useCodeCache: true,
  execArgv: controllerNodeFlags,
};
