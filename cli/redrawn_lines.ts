/** Lines at the end of a terminal that are drawn again in their place. */
import progress, { type MultiBar, type SingleBar } from "cli-progress";
import type { Io } from "./io.ts";

/** Where lines can be drawn again; undefined for pipes, files and terminals that cannot move the cursor. */
export function redrawingTerminal({ isTTY, env, terminal }: Io): NodeJS.WritableStream | undefined {
  return isTTY && env["TERM"] !== "dumb" ? terminal : undefined;
}

export class RedrawnLines {
  readonly #bars: MultiBar;
  readonly #lines: SingleBar[];

  /** `count` lines, empty at first. */
  constructor(terminal: NodeJS.WritableStream, count: number) {
    this.#bars = new progress.MultiBar({
      stream: terminal,
      format: (_options, _params, payload) => String(payload["line"] ?? ""),
      hideCursor: true,
      gracefulExit: false,
      forceRedraw: true,
      fps: 15,
      emptyOnZero: true,
    });
    this.#lines = Array.from({ length: count }, () => this.#bars.create(1, 0, { line: "" }));
  }

  /** None may be wider than the terminal. */
  show(lines: readonly string[]): void {
    for (const [row, bar] of this.#lines.entries()) bar.update(0, { line: lines[row] ?? "" });
  }

  /** Leaves the last picture on the screen; nothing is drawn after it. */
  end(): void {
    this.#bars.update();
    this.#bars.stop();
  }
}
