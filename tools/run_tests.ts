/** Runs tap and ends with the count line `N passed, N failed[, N skipped]`; the exit code is tap's. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

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
  const counts = countsIn(read(file));
  rmSync(folder, { recursive: true, force: true });
  const failed = counts.failed > 0 || code === 0 ? counts.failed : 1;
  // The reporter may leave the cursor in a line of its own.
  console.log();
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

/** tap closes with a comment that counts all assertions: `# { total: 3, pass: 2, fail: 1 }`. */
function countsIn(tap: string): { passed: number; failed: number; skipped: number } {
  const summary = /^# \{ total: [^}]*\}$/gm;
  const last = [...tap.matchAll(summary)].at(-1)?.[0] ?? "";
  const number = (name: string): number => Number(new RegExp(`\\b${name}: (\\d+)`).exec(last)?.[1] ?? 0);
  return { passed: number("pass"), failed: number("fail"), skipped: number("skip") + number("todo") };
}
