/**
 * Runs tap, names each failure once more at the end (`FAILED  file > test > assertion`, what tap knows about it indented
 * below), and closes with the count line `N passed, N failed[, N skipped]`; the exit code is tap's.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countsIn, failuresIn } from "./tap_results.ts";

const folder = mkdtempSync(join(tmpdir(), "refit-tests-"));
const file = join(folder, "results.tap");
const child = spawn("tap", ["--reporter=terse", `--output-file=${file}`, ...process.argv.slice(2)], {
  stdio: "inherit",
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));

child.on("error", (error) => {
  console.error(`tap could not be started: ${error.message}; run npm ci first`);
  process.exitCode = 1;
});
child.on("exit", (code) => {
  const results = read(file);
  const counts = countsIn(results);
  rmSync(folder, { recursive: true, force: true });
  const failed = counts.failed > 0 || code === 0 ? counts.failed : 1;
  // The reporter may leave the cursor in a line of its own.
  console.log();
  for (const failure of failuresIn(results)) {
    console.log(`FAILED  ${failure.path.join(" > ")}`);
    for (const line of failure.details) console.log(`        ${line}`);
  }
  console.log(
    `${counts.passed} passed, ${failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ""}`,
  );
  process.exitCode = code === 0 && failed === 0 && counts.passed > 0 ? 0 : 1;
});

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
