/**
 * Runs tap and prints a line for each file as it ends. Names each failure once more at the end (`FAILED  file > test >
 * assertion`, what tap knows about it indented below), and closes with the count line `N passed, N failed[, N skipped]`.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { countsIn, failuresIn, fileIn } from "./tap_results.ts";

// Each file is a process: without the cache each would strip and compile the same hundreds of modules.
const NODE_COMPILE_CACHE = join(import.meta.dirname, "..", "node_modules", ".cache", "node-compile");
const plainProcesses = pathToFileURL(join(import.meta.dirname, "..", "testkit", "plain_processes.mjs"));
const NODE_OPTIONS = `${process.env["NODE_OPTIONS"] ?? ""} --import=${plainProcesses}`.trim();
// Not terse nor base: they move the cursor, and say nothing of files that pass.
const child = spawn("tap", ["--reporter=tap", ...process.argv.slice(2)], {
  stdio: ["inherit", "pipe", "inherit"],
  env: { NODE_COMPILE_CACHE, ...process.env, NODE_OPTIONS },
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`tap could not be started: ${error.message}; run npm ci first`);
  process.exitCode = 1;
});
const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));

const lines: string[] = [];
for await (const line of createInterface({ input: child.stdout })) {
  lines.push(line);
  const file = fileIn(line);
  if (file === undefined) continue;
  console.log(`${file.passed ? "ok  " : "FAIL"} ${file.seconds.toFixed(1).padStart(7)} s  ${file.path}`);
}
const code = await ended;
const results = lines.join("\n");
const counts = countsIn(results);
const failed = counts.failed > 0 || code === 0 ? counts.failed : 1;
for (const failure of failuresIn(results)) {
  console.log(`FAILED  ${failure.path.join(" > ")}`);
  for (const line of failure.details) console.log(`        ${line}`);
}
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
console.log(`${counts.passed} passed, ${failed} failed${skipped}`);
process.exitCode = code === 0 && failed === 0 && counts.passed > 0 ? 0 : 1;
