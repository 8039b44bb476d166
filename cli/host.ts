/** This process as commands see it: streams, environment, signals, clock, files, programs. */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { text } from "node:stream/consumers";
import { systemClock } from "../kube/index.ts";
import type { Host } from "./command.ts";
import { connect } from "./connect.ts";
import { CliError } from "./errors.ts";
import type { Io } from "./io.ts";

export function processHost(): Host {
  return {
    clock: systemClock,
    random: Math.random,
    connect,
    readFile: (path) =>
      readFile(path, "utf8").catch((cause: unknown) => Promise.reject(unreadable(path, cause))),
    readStdin: () => text(process.stdin),
    runProgram,
    parent: () => process.ppid,
    process,
  };
}

function unreadable(path: string, cause: unknown): CliError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new CliError(`cannot read ${path}: ${why}`, { cause });
}

function runProgram(name: string, argv: readonly string[]): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(name, argv, { stdio: "inherit" });
    child.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") resolve(undefined);
      else reject(error);
    });
    child.once("exit", (code, signal) => resolve(code ?? (signal === null ? 1 : 130)));
  });
}

export interface ProcessIo {
  readonly argv: readonly string[];
  readonly io: Io;
  /** Gives the signals back to the runtime: a second Ctrl-C then ends a process that hangs. */
  settled(): void;
}

/** Of a process that SIGPIPE ends. */
const brokenPipeCode = 141;

/** Ctrl-C and SIGTERM abort `io.signal` once; the second one ends the process at once. */
export function processIo(): ProcessIo {
  const stopping = new AbortController();
  const stop = (): void => {
    if (stopping.signal.aborted) process.exit(130);
    stopping.abort();
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  // Waiting on a timer alone must not end the process.
  const alive = setInterval(() => undefined, 2 ** 30);
  // A reader that goes away (`refit get pods | head -1`) ends us without a word, but what was begun may be half done.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(brokenPipeCode);
    throw error;
  });
  const io: Io = {
    stdout: process.stdout,
    stderr: process.stderr,
    env: { HOME: homeOfUser(), ...process.env },
    isTTY: process.stdout.isTTY === true,
    columns: process.stdout.columns || Number(process.env["COLUMNS"]) || 80,
    rows: process.stdout.rows || 24,
    signal: stopping.signal,
    ...(process.stdout.isTTY === true ? { terminal: process.stdout } : {}),
  };
  const settled = (): void => {
    clearInterval(alive);
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
  };
  return { argv: process.argv.slice(2), io, settled };
}

/** Service managers may start a process without HOME: then it is what the system says of the user, if that is known. */
function homeOfUser(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}
