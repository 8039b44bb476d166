/** How far a run is: a bar on a terminal, plain lines elsewhere. */
import progress, { type MultiBar, type SingleBar } from "cli-progress";
import { type Paint, progressLine } from "../cli/index.ts";
import type { Clock } from "../kube/index.ts";

export interface Progress {
  begin(name: string, total: number): void;
  update(done: number): void;
  end(): void;
}

export const silentProgress: Progress = {
  begin: () => undefined,
  update: () => undefined,
  end: () => undefined,
};

export interface ProgressOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export function createProgress(
  output: ProgressOutput,
  terminal: NodeJS.WritableStream,
  clock: Clock,
): Progress {
  return output.isTTY === true ? new Bar(terminal, output.columns ?? 80, clock) : new Lines(output, clock);
}

const nameWidth = 22;
const lineEveryMs = 2_000;
/** Its terminal may not understand colours. */
const plain: Paint = (_style, text) => text;

class Bar implements Progress {
  readonly #terminal: NodeJS.WritableStream;
  readonly #columns: number;
  readonly #clock: Clock;
  #bars: MultiBar | undefined;
  #bar: SingleBar | undefined;
  #startedMs = 0;

  constructor(terminal: NodeJS.WritableStream, columns: number, clock: Clock) {
    this.#terminal = terminal;
    this.#columns = columns;
    this.#clock = clock;
  }

  begin(name: string, total: number): void {
    this.end();
    this.#startedMs = this.#clock.monotonic();
    this.#bars = new progress.MultiBar({
      stream: this.#terminal,
      format: (_options, params) => {
        const note = `${((this.#clock.monotonic() - this.#startedMs) / 1000).toFixed(1)} s`;
        const { value: done, total } = params;
        return progressLine(
          { title: name.padEnd(nameWidth), done, total, note, columns: this.#columns },
          plain,
        );
      },
      hideCursor: true,
      gracefulExit: false,
      fps: 10,
      emptyOnZero: true,
    });
    this.#bar = this.#bars.create(total, 0, {});
  }

  update(done: number): void {
    this.#bar?.update(done);
  }

  end(): void {
    this.#bars?.update();
    this.#bars?.stop();
    this.#bars = undefined;
    this.#bar = undefined;
  }
}

class Lines implements Progress {
  readonly #output: ProgressOutput;
  readonly #clock: Clock;
  #name = "";
  #total = 0;
  #done = 0;
  #lastMs = 0;
  #open = false;

  constructor(output: ProgressOutput, clock: Clock) {
    this.#output = output;
    this.#clock = clock;
  }

  begin(name: string, total: number): void {
    this.#name = name;
    this.#total = total;
    this.#done = 0;
    this.#open = true;
    this.#lastMs = this.#clock.monotonic();
    this.#output.write(`${name}: 0/${total}\n`);
  }

  update(done: number): void {
    const now = this.#clock.monotonic();
    this.#done = done;
    if (now - this.#lastMs < lineEveryMs) return;
    this.#lastMs = now;
    this.#write();
  }

  end(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#done = this.#total;
    this.#write();
  }

  #write(): void {
    this.#output.write(`${this.#name}: ${this.#done}/${this.#total}\n`);
  }
}
