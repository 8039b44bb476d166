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

/** Throws BundleError where it is not installed for this platform. */
export function bundledRuntime(root: string): Runtime {
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
