/** The package of npm, `npx refit up`: the modules as they are built. They hold what they need, so that nothing else is installed. */
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { runProgram } from "./run_program.ts";

/** In dist/. */
export const npmPackageName = "refit-npm.tgz";

/** What is used of the project's package.json. */
export interface Project {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly engines: { readonly node: string };
  readonly bin: Readonly<Record<string, string>>;
}

/** Its package.json: the same programs, of dist/, and no dependencies. */
export function packageDescription({ name, version, description, license, engines, bin }: Project): object {
  const programs = Object.fromEntries(Object.keys(bin).map((program) => [program, "refit.mjs"]));
  return { name, version, description, license, type: "module", bin: programs, man: "man/refit.1", engines };
}

/** Source maps stay out: they are six times what they are about. */
const isShipped = (path: string): boolean => !path.endsWith(".map");

/** From dist/ and the project's folder, to paths in the package. */
const filesOf = (root: string, dist: string): readonly (readonly [string, string])[] => [
  [join(dist, "refit.mjs"), "refit.mjs"],
  [join(dist, "refit"), "refit"],
  [join(dist, "refit.NOTICES.txt"), "NOTICES.txt"],
  [join(dist, "man/refit.1"), "man/refit.1"],
  [join(root, "LICENSE"), "LICENSE"],
  [join(root, "README.md"), "README.md"],
];

/** Makes the package in `dist` of what is there; equal files give equal bytes. Rejects with BundleError when npm fails. */
export async function makeNpmPackage(root: string, dist: string, project: Project): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "refit-npm-"));
  try {
    const content = join(folder, "package");
    for (const [from, to] of filesOf(root, dist))
      await cp(from, join(content, to), { recursive: true, filter: isShipped });
    await writeFile(
      join(content, "package.json"),
      `${JSON.stringify(packageDescription(project), null, 2)}\n`,
    );
    runProgram("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: content });
    await cp(join(folder, `${project.name}-${project.version}.tgz`), join(dist, npmPackageName));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Installs a package into an empty folder without a registry. Returns how `refit` of it is called; throws BundleError. */
export function installNpmPackage(tarball: string, folder: string): (argv: readonly string[]) => string {
  const flags = ["--offline", "--no-audit", "--no-fund", "--silent"];
  runProgram("npm", ["install", ...flags, "--prefix", folder, tarball]);
  // It is started by the name of Node, as npm's programs are.
  const env = { ...process.env, PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter) };
  return (argv) => runProgram(join(folder, "node_modules/.bin/refit"), argv, { env, cwd: folder });
}
