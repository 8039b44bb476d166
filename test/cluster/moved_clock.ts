/** A wall clock that a test moves, of the processes that are started with its environment. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const architecture = process.arch === "arm64" ? "aarch64" : "x86_64";

/** libfaketime around a process: reads how far its wall clock is off from a file, at each look. */
export class MovedClock {
  readonly #folder = mkdtempSync(join(tmpdir(), "refit-clock-"));

  constructor() {
    this.set(0);
  }

  get environment(): Record<string, string> {
    return {
      LD_PRELOAD: `/usr/lib/${architecture}-linux-gnu/faketime/libfaketime.so.1`,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      DONT_FAKE_MONOTONIC: "1",
    };
  }

  /** Seconds from the machine's clock. */
  set(seconds: number): void {
    const next = `${this.#file}.next`;
    writeFileSync(next, `${seconds < 0 ? "" : "+"}${seconds}\n`);
    renameSync(next, this.#file);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #file(): string {
    return join(this.#folder, "offset");
  }
}
