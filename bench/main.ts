/**
 * `npm run bench -- SCENARIO --pods N --nodes M [--kubeconfig FILE] [--pid N] [--metrics-url URL] --out result.json`
 * The script lets the heap grow past its usual limit: a hundred thousand pods are held here, too.
 */
import { join } from "node:path";
import { pinoLog, systemClock } from "../kube/index.ts";
import { bench } from "./bench.ts";
import { createProgress } from "./progress.ts";

const interruption = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => {
    if (interruption.signal.aborted) {
      console.error(
        "bench: stopped at once; `npm run bench -- clean --kubeconfig FILE` removes what is left",
      );
      process.exit(130);
    }
    console.error("\nbench: removing what was made; once more to stop at once");
    interruption.abort();
  });
}

const clock = systemClock;
process.exitCode = await bench(process.argv.slice(2), {
  print: (line) => console.log(line),
  note: (line) => console.error(line),
  progress: createProgress(process.stderr, process.stderr, clock),
  clock,
  log: pinoLog({
    level: process.env["REFIT_BENCH_LOG"] === "debug" ? "debug" : "error",
    now: () => clock.now(),
  }),
  signal: interruption.signal,
  controller: process.env["REFIT_CONTROLLER"] ?? join(import.meta.dirname, "..", "cli", "bin.js"),
});
