/** The command line of the build under test, as processes of this machine: the controller, and what installs it. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { controllerEnvironment, controllerNodeFlags } from "../cli/index.ts";
import type { Clock } from "../kube/index.ts";
import { BenchError } from "./errors.ts";

const READY_TIMEOUT_MS = 60_000;
const keptLines = 12;

export interface Program {
  /** `cli/bin.js` or a bundle of the tree to measure. */
  readonly entry: string;
  /** Added to this process's own. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Runs one command to its end; rejects with its last words. */
export function runCommand(program: Program, args: readonly string[]): Promise<void> {
  const lines = new LastLines();
  const child = start(program, [], args, (line) => lines.keep(line));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve() : reject(lines.error(`refit ${args[0]} ended with code ${code}`)),
    );
  });
}

export interface ControllerOptions {
  readonly program: Program;
  readonly nodeFlags: readonly string[];
  readonly flags: readonly string[];
  readonly healthPort: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** One process of the controller. */
export class ControllerProcess {
  readonly #options: ControllerOptions;
  readonly #lines = new LastLines();
  readonly #child: ChildProcess;
  #ending = false;
  #identity: string | undefined;

  constructor(options: ControllerOptions) {
    this.#options = options;
    const { program, nodeFlags, flags } = options;
    const child = start(program, nodeFlags, ["controller", ...flags], (line) => this.#read(line));
    this.#child = child;
    endWithThisProcess(child);
    child.once("exit", (code, signal) => {
      if (!this.#ending)
        process.stderr.write(
          `${this.#lines.error(`the controller ended by itself: ${signal ?? `code ${code}`}`).message}\n`,
        );
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** As holder of a lease; known once it has led anything and logs JSON. */
  get identity(): string | undefined {
    return this.#identity;
  }

  /** Resolves when it says so. */
  async ready(): Promise<void> {
    const { clock, signal, healthPort } = this.#options;
    const url = `http://127.0.0.1:${healthPort}/readyz`;
    const until = clock.monotonic() + READY_TIMEOUT_MS;
    while (clock.monotonic() < until) {
      signal.throwIfAborted();
      if (this.#hasEnded)
        throw this.#lines.error(`the controller ended with code ${this.#child.exitCode} before it was ready`);
      const answer = await fetch(url, { signal: AbortSignal.timeout(1000) }).catch(() => undefined);
      if (answer?.ok === true) return;
      await clock.sleep(50);
    }
    throw this.#lines.error(`the controller was not ready after ${READY_TIMEOUT_MS / 1000} s (${url})`);
  }

  end(signal: NodeJS.Signals): Promise<void> {
    if (this.#hasEnded) return Promise.resolve();
    this.#ending = true;
    return new Promise((resolve) => {
      this.#child.once("exit", () => resolve());
      this.#child.kill(signal);
    });
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  #read(line: string): void {
    this.#lines.keep(line);
    this.#identity ??= /"identity":"([^"]+)"/.exec(line)?.[1];
  }
}

/** What a process said last, for whoever asks why it ended. */
class LastLines {
  readonly #lines: string[] = [];

  keep(line: string): void {
    if (line === "") return;
    this.#lines.push(line);
    if (this.#lines.length > keptLines) this.#lines.shift();
  }

  error(what: string): BenchError {
    return new BenchError([what, ...this.#lines.map((line) => `  ${line}`)].join("\n"));
  }
}

function start(
  { entry, environment }: Program,
  nodeFlags: readonly string[],
  args: readonly string[],
  read: (line: string) => void,
): ChildProcess {
  // In a process group of its own: Ctrl-C is for the bench, which still needs the manager to clean up.
  const child = spawn(process.execPath, [...controllerNodeFlags, ...nodeFlags, entry, ...args], {
    env: { ...process.env, ...controllerEnvironment, ...environment },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on("line", read);
  return child;
}

/** A bench that ends in whatever way takes its controller along: killed itself, it leaves that to a shell that notices. */
function endWithThisProcess(child: ChildProcess): void {
  const watcher = spawn("sh", ["-c", 'read -r _ || kill -KILL "$0"', String(child.pid)], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watcher.on("error", () => undefined);
  watcher.stdin?.on("error", () => undefined);
  watcher.unref();
  const onExit = () => child.kill("SIGKILL");
  process.once("exit", onExit);
  child.once("exit", () => {
    process.off("exit", onExit);
    watcher.stdin?.end("ended\n");
  });
}
