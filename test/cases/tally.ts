/** Counts steps and prints them as they end. */
import type { StepResult } from "./step_result.ts";

/** Of what is reported of one failure. */
const lineLimit = 90;

export class Tally {
  passed = 0;
  failed = 0;
  skipped = 0;
  readonly #write: (line: string) => void;
  readonly #start = performance.now();

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  readonly report = (result: StepResult): void => {
    const seconds = ((performance.now() - this.#start) / 1000).toFixed(1).padStart(6);
    const place = `${seconds} s  ${result.suite}: ${result.step}`;
    if (result.outcome === "passed") {
      this.passed++;
      this.#write(`ok      ${place}`);
    } else if (result.outcome === "skipped") {
      this.skipped++;
      this.#write(`skipped ${place}: ${result.reason}`);
    } else {
      this.failed++;
      this.#write(`FAILED  ${place}`);
      for (const line of result.error.split("\n").slice(0, lineLimit)) this.#write(`        ${line}`);
    }
  };

  /** The last line of a run. */
  line(): string {
    const skipped = this.skipped > 0 ? `, ${this.skipped} skipped` : "";
    return `${this.passed} passed, ${this.failed} failed${skipped}`;
  }
}
