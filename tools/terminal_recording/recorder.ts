/** Runs commands in a terminal and keeps what it showed. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { isDeepStrictEqual } from "node:util";
import { type Frame, Screen, type Size } from "./screen.ts";

/** What changes faster than this is one frame. */
const frameMs = 80;
/** Nobody wants to wait for longer. */
const longestMs = 1_200;
const letterMs = 35;
const prompt = "\x1b[32m$\x1b[0m ";

export interface Program {
  /** What a reader types. */
  readonly typed: string;
  /** What is run, in a shell. */
  readonly command: string;
}

/** Time of the recording: pauses are shorter in it than they were. */
export class Recorder {
  readonly #screen: Screen;
  readonly #size: Size;
  readonly #folder: string;
  readonly #frames: Frame[] = [];
  #at = 0;

  /** `folder`: where the commands are run. */
  constructor(size: Size, folder: string) {
    this.#size = size;
    this.#folder = folder;
    this.#screen = new Screen(size);
  }

  get frames(): readonly Frame[] {
    return this.#frames;
  }

  /** Types a command, runs it, and resolves when it ended, or when `until` was printed; then it runs on. */
  async run({ typed, command }: Program, env: NodeJS.ProcessEnv, until?: RegExp): Promise<ChildProcess> {
    await this.#type(typed);
    const sized = `stty cols ${this.#size.columns} rows ${this.#size.rows}; exec ${command}`;
    // A terminal of its own: programs show there what they do not write into files.
    const child = spawn("script", ["--quiet", "--flush", "--return", "--command", sized, "/dev/null"], {
      cwd: this.#folder,
      env: { ...env, TERM: "xterm-256color" },
      stdio: ["ignore", "pipe", "inherit"],
      detached: true,
    });
    await this.#show(child, until);
    await this.#write("\r\n", 600);
    return child;
  }

  /** An empty screen, as another terminal has it. */
  clear(): Promise<void> {
    return this.#write("\x1b[2J\x1b[H", 800);
  }

  async #type(typed: string): Promise<void> {
    await this.#write(prompt, 500);
    for (const letter of typed) await this.#write(letter, letterMs);
    await this.#write("\r\n", 300);
  }

  async #show(child: ChildProcess, until: RegExp | undefined): Promise<void> {
    const ended = once(child, "exit");
    let printed = "";
    let last = performance.now();
    const found = new Promise<void>((resolve) => {
      child.stdout?.on("data", (bytes: Buffer) => {
        const now = performance.now();
        // Where it was recorded is nobody's business.
        const text = bytes.toString().replaceAll(this.#folder, "~");
        void this.#write(text, Math.min(longestMs, now - last));
        last = now;
        printed += text;
        if (until?.test(printed)) resolve();
      });
    });
    await Promise.race([ended, found]);
  }

  async #write(bytes: string, afterMs: number): Promise<void> {
    this.#at += afterMs;
    const at = this.#at;
    await this.#screen.write(bytes);
    const lines = this.#screen.lines();
    const last = this.#frames.at(-1);
    if (last !== undefined && isDeepStrictEqual(last.lines, lines)) return;
    if (last !== undefined && at - last.at < frameMs)
      this.#frames[this.#frames.length - 1] = { at: last.at, lines };
    else this.#frames.push({ at, lines });
  }
}
