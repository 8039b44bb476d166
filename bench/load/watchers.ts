/** Clients beside the manager, each a process, that keep a machine as full as kubelets, schedulers and monitoring keep a real one. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { BenchError } from "../errors.ts";

const program = join(import.meta.dirname, "watcher.ts");

/** The clients. Resolves when all of them watch. */
export async function startWatchers(count: number, kubeconfig: string, run: string): Promise<Watchers> {
  const watchers = new Watchers(
    Array.from({ length: count }, () =>
      // They end with this process, however it ends: it holds the other end of their standard input.
      spawn(process.execPath, [program, kubeconfig, run], {
        stdio: ["pipe", "pipe", "ignore"],
        detached: true,
      }),
    ),
  );
  try {
    await watchers.begun();
  } catch (error) {
    await watchers.stop();
    throw error;
  }
  return watchers;
}

export class Watchers {
  readonly #processes: readonly ChildProcess[];

  constructor(processes: readonly ChildProcess[]) {
    this.#processes = processes;
  }

  async begun(): Promise<void> {
    await Promise.all(
      this.#processes.map(async (child) => {
        const ended = once(child, "exit").then(() => {
          throw new BenchError("a client of --watchers ended before it watched");
        });
        ended.catch(() => undefined);
        if (child.stdout !== null) await Promise.race([once(child.stdout, "data"), ended]);
      }),
    );
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#processes.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const exit = once(child, "exit");
        // It may be ending by itself at this moment.
        child.stdin?.on("error", () => undefined).end();
        await exit;
      }),
    );
  }
}
