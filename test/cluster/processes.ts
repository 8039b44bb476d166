/** Child processes that live until the test cluster ends: each has a log file, and each is ended by its id. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onExit } from "signal-exit";
import { Patience } from "./patience.ts";

export interface Service {
  readonly name: string;
  readonly pid: number;
  /** Undefined while it runs. */
  exitCode(): number | undefined;
  stop(graceMs?: number): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  readonly logFile: string;
}

export interface StartOptions {
  readonly environment?: Record<string, string>;
  readonly logFolder: string;
  readonly workingFolder?: string;
}

/** For the servers of Kubernetes, which are Go's: a test has few objects and few processors, and memory to spare. */
const lessCollecting = { GOGC: "400" };

/**
 * Starts `command` in a process group of its own, so that a terminal's interrupt reaches only the harness. What still
 * runs of the group when the harness exits is killed.
 */
export function startService(
  name: string,
  command: string,
  argumentList: readonly string[],
  options: StartOptions,
): Service {
  const logFile = join(options.logFolder, `${name}.log`);
  const log = openSync(logFile, "a");
  const child = spawn(command, argumentList, {
    stdio: ["ignore", log, log],
    detached: true,
    env: { ...lessCollecting, ...process.env, ...options.environment },
    ...(options.workingFolder === undefined ? {} : { cwd: options.workingFolder }),
  });
  closeSync(log);
  killAtExit(child);
  return new RunningService(name, child, logFile);
}

function killAtExit(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) return;
  // Also when a signal ends the harness: no `exit` event tells of that.
  const forget = onExit(() => {
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It is gone already.
    }
  });
  child.once("exit", forget);
}

/**
 * From here on Ctrl-C and SIGTERM end the harness with code 130, after `tidy`, and with it every service. Further ones
 * change nothing: tidying up takes seconds, and half of it would leave nodes mounted.
 */
export function exitOnInterrupt(tidy: () => Promise<void>): void {
  const exit = () => void tidy().finally(() => process.exit(130));
  process.on("SIGINT", exit);
  process.on("SIGTERM", exit);
}

class RunningService implements Service {
  readonly name: string;
  readonly logFile: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #exitCode: number | undefined;

  constructor(name: string, child: ChildProcess, logFile: string) {
    this.name = name;
    this.logFile = logFile;
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once("error", () => {
        this.#exitCode = 127;
        resolve();
      });
      child.once("exit", (code) => {
        this.#exitCode = code ?? 128;
        resolve();
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  exitCode(): number | undefined {
    return this.#exitCode;
  }

  kill(signal: NodeJS.Signals): void {
    if (this.#exitCode === undefined) this.#child.kill(signal);
  }

  async stop(graceMs = 10_000): Promise<void> {
    if (this.#exitCode !== undefined) return;
    this.kill("SIGTERM");
    const patience = new AbortController();
    await Promise.race([
      this.#ended,
      sleep(graceMs, undefined, { signal: patience.signal }).catch(() => undefined),
    ]);
    patience.abort();
    this.kill("SIGKILL");
    await this.#ended;
  }
}

/** The end of a log, for the message of a failed start. */
export function tailOf(file: string, lines = 15): string {
  try {
    return readFileSync(file, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
  } catch {
    return "";
  }
}

/** Calls `probe` until it is true; throws with the end of the service's log when it ends before or time is up. */
export async function untilReady(
  service: Service,
  probe: () => Promise<boolean>,
  timeoutMs: number,
): Promise<void> {
  const patience = new Patience(timeoutMs);
  while (!(await probe().catch(() => false))) {
    const ended = service.exitCode();
    if (ended !== undefined) {
      throw new Error(
        `${service.name} ended with code ${ended} before it was ready:\n${tailOf(service.logFile)}`,
      );
    }
    if (patience.isOver) {
      throw new Error(`${service.name} was not ready after ${patience}:\n${tailOf(service.logFile)}`);
    }
    await sleep(200);
  }
}

/** A service, and what says that it is ready. */
export interface Probed {
  readonly service: Service;
  readonly probe: () => Promise<boolean>;
}

/** `untilReady` of services that start side by side; throws with what is to be said about each that was not ready. */
export async function untilAllReady(probed: readonly Probed[], timeoutMs: number): Promise<void> {
  const outcomes = await Promise.allSettled(
    probed.map(({ service, probe }) => untilReady(service, probe, timeoutMs)),
  );
  const failures = outcomes.flatMap((one) => (one.status === "rejected" ? [one.reason.message] : []));
  if (failures.length > 0) throw new Error(failures.join("\n"));
}
