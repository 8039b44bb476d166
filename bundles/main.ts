/**
 * `npm run bundle`: everything that ships, in dist/. Controller and command line, and the agent, as modules with their maps; the
 * controller with the command line as one executable; the package of npm; notices, manual page, completion, bill of materials,
 * checksums.
 * Made twice of the same tree, each file has the same bytes. The checksums come last: without them dist/ is not whole.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { manualPage, refitVersion } from "../cli/index.ts";
import { writeChecksums } from "./checksums.ts";
import { BundleError, messageOf } from "./errors.ts";
import { executableName, makeExecutable, makeScript } from "./executable.ts";
import { makeNpmPackage, type Project } from "./npm_package.ts";
import { runProgram } from "./run_program.ts";
import { bundledRuntime, type Runtime } from "./runtime.ts";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");
/** Of the executable. */
const work = join(root, "node_modules/.cache/executable");

async function bundle(): Promise<void> {
  const runtime = bundledRuntime(root);
  await rm(dist, { recursive: true, force: true });
  say("modules of the controller and the command line, and of the agent");
  for (const script of ["build", "build:agent"])
    runProgram("npm", ["run", "--silent", script], { cwd: root });
  say(`executable on Node ${runtime.version}`);
  makeScript(join(dist, "refit.mjs"), work);
  await makeExecutable(work, join(dist, executableName), runtime);
  await write(`${executableName}.NOTICES.txt`, await executableNotices(runtime));
  say("manual page, completion, package of npm, bill of materials, checksums");
  await write("man/refit.1", await manualPage());
  for (const [shell, file, mode] of completionFiles)
    await write(`completion/${file}`, completion(shell), mode);
  const project: Project = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  await makeNpmPackage(root, dist, project);
  await write("refit.cdx.json", billOfMaterials(runtime));
  await writeChecksums(dist);
}

/** By what asks for it, under the names that it looks for. kubectl runs its file, shells read theirs. */
const completionFiles = [
  ["bash", "refit", 0o644],
  ["zsh", "_refit", 0o644],
  ["fish", "refit.fish", 0o644],
  ["kubectl", "kubectl_complete-refit", 0o755],
] as const;

function completion(shell: string): string {
  return runProgram(process.execPath, [join(dist, "refit.mjs"), "completion", shell]);
}

/** Those of the modules, and those of Node. */
async function executableNotices(runtime: Runtime): Promise<string> {
  const ofModules = await readFile(join(dist, "refit.NOTICES.txt"), "utf8");
  return `${ofModules}\n${"-".repeat(80)}\n\nNode.js ${runtime.version}\n\n${runtime.licence.trim()}\n`;
}

/** CycloneDX: the packages that the project needs when it runs, of which the modules hold parts, and the executable's Node. */
function billOfMaterials({ version }: Runtime): string {
  const flags = ["--omit", "dev", "--output-reproducible", "--output-format", "JSON", "--validate"];
  const bill: { components: object[] } = JSON.parse(runProgram("cyclonedx-npm", flags, { cwd: root }));
  bill.components.push({
    type: "platform",
    name: "node",
    version,
    "bom-ref": `node@${version}`,
    description: `In ${executableName}.`,
    licenses: [{ license: { id: "MIT" } }],
    purl: `pkg:generic/node@${version}`,
  });
  return `${JSON.stringify(bill, null, 2)}\n`;
}

async function write(path: string, text: string, mode = 0o644): Promise<void> {
  const file = join(dist, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text, { mode });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

try {
  await bundle();
  say(`dist/ holds Refit ${refitVersion}`);
} catch (error) {
  process.stderr.write(`error: ${messageOf(error)}\n`);
  process.exitCode = error instanceof BundleError ? error.exitCode : 1;
}
