/** Rollouts at scale, against any API server and any manager. */
export { bench } from "./bench.ts";
export type { BenchIo, Command } from "./io.ts";
export type { Phase, ResultFile, Run } from "./measure/result.ts";
export { scenarios } from "./scenarios/all.ts";
