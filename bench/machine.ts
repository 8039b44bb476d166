/** On what, and of what, a result is. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ResultFile } from "./measure/result.ts";

const execute = promisify(execFile);
const root = join(import.meta.dirname, "..");

export function machine(): ResultFile["machine"] {
  return {
    cpus: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()}`,
    node: process.version,
  };
}

export async function tool(): Promise<ResultFile["tool"]> {
  const manifest: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const version =
    typeof manifest === "object" && manifest !== null && "version" in manifest
      ? String(manifest.version)
      : "";
  const commit = await execute("git", ["-C", root, "describe", "--always", "--dirty"]).then(
    ({ stdout }) => stdout.trim(),
    () => "unknown",
  );
  return { version, commit };
}
