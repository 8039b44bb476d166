/** The Node that the executable holds: the one of package-lock.json, whatever Node runs the build. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { BundleError, messageOf } from "./errors.ts";

export interface Runtime {
  readonly version: string;
  /** The program. */
  readonly file: string;
  /** Text of its licence, and those of what it holds. */
  readonly licence: string;
}

/** Throws BundleError where it is not there for this platform. */
export function bundledRuntime(root: string): Runtime {
  return process.platform === "darwin"
    ? runningRuntime(root, process.version.slice(1), process.execPath)
    : packagedRuntime(root);
}

function packagedRuntime(root: string): Runtime {
  const name = `node-${process.platform}-${process.arch}`;
  try {
    // The package `node` brings the program of this platform in a package of its own.
    const brings = createRequire(join(root, "node_modules/node/package.json"));
    const description = brings.resolve(`${name}/package.json`);
    const folder = dirname(description);
    const { version }: { version: string } = JSON.parse(readFileSync(description, "utf8"));
    const licence = readFileSync(join(folder, "LICENSE"), "utf8");
    return { version, file: join(folder, "bin", "node"), licence };
  } catch (cause) {
    throw new BundleError(`the package ${name} is not there (${messageOf(cause)}); run npm ci`, { cause });
  }
}

/**
 * The Node that runs, for macOS, for which the package is missing in most versions. `file` is where its archive has it, with the
 * licence beside `bin`. Throws BundleError when it is another version than that of the lock file.
 */
export function runningRuntime(root: string, version: string, file: string): Runtime {
  const { packages }: { packages: Record<string, { version?: string }> } = JSON.parse(
    readFileSync(join(root, "package-lock.json"), "utf8"),
  );
  const locked = packages["node_modules/node"]?.version;
  if (version !== locked)
    throw new BundleError(
      `the executable holds Node ${locked}, and this is ${version}; run the build with that one`,
    );
  const licenceFile = join(dirname(file), "..", "LICENSE");
  try {
    return { version, file, licence: readFileSync(licenceFile, "utf8") };
  } catch (cause) {
    throw new BundleError(
      `Node's licence is not at ${licenceFile} (${messageOf(cause)}); run the build with a Node of nodejs.org`,
      { cause },
    );
  }
}
