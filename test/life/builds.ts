/** Another build of what ships, as a later release would be: its own version, and definitions that differ. */
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { refitVersion } from "../../cli/index.ts";
import { builtProgram } from "../built.ts";

export const newerVersion = "99.0.0";

/** What the newer build's definition of CloneSets says where the present one says `presentWords`. */
export const newerWords = "Wanted number of pods, as the newer build says.";
export const presentWords = "Wanted number of pods.";

const changes: readonly (readonly [string, string])[] = [
  [`"${refitVersion}"`, `"${newerVersion}"`],
  [presentWords, newerWords],
];

/** Writes the build to `folder` and returns its entry; throws where the present build has nothing to change. */
export function writeNewerBuild(folder: string): string {
  const entry = builtProgram("refit");
  const program = join(folder, "refit.mjs");
  cpSync(entry, program);
  cpSync(join(dirname(entry), "refit"), join(folder, "refit"), { recursive: true });
  const files = readdirSync(join(folder, "refit")).filter((name) => name.endsWith(".mjs"));
  for (const [present, newer] of changes) {
    const changed = files.filter((name) => replaceIn(join(folder, "refit", name), present, newer));
    if (changed.length === 0) throw new Error(`no file of ${entry} has ${present}`);
  }
  return program;
}

function replaceIn(file: string, present: string, newer: string): boolean {
  const text = readFileSync(file, "utf8");
  if (!text.includes(present)) return false;
  writeFileSync(file, text.replaceAll(present, newer));
  return true;
}
