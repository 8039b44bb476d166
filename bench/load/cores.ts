/** Which cores of the machine belong to whom. Linux only. */
import { spawnSync } from "node:child_process";
import { BenchError } from "../errors.ts";

export interface Cores {
  /** Of the manager, as `taskset` takes them. */
  readonly manager: string;
  /** Of the bench, its server, and the clients beside. */
  readonly others: string;
}

/** From now on all threads of the process, and all that it starts, run on these cores alone. */
export function hold(pid: number, cores: string): void {
  const words = ["--all-tasks", "--cpu-list", "--pid", cores, String(pid)];
  const { status, stderr, error } = spawnSync("taskset", words);
  if (status === 0) return;
  throw new BenchError(
    `process ${pid} cannot be held on core ${cores}: ${error?.message ?? String(stderr).trim()}`,
  );
}
