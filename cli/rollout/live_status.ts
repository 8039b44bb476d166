/** A rollout on a terminal: a bar, its pods by state, and why it waits, drawn again in their place. */
import type { Clock } from "../../kube/index.ts";
import type { AnyObject } from "../fields.ts";
import type { Paint } from "../io.ts";
import { progressLine } from "../progress_line.ts";
import { RedrawnLines } from "../redrawn_lines.ts";
import { age, clip } from "../text_table.ts";
import { type Pace, paced, remainingMs } from "./pace.ts";
import { type PodCounts, podCounts } from "./pod_counts.ts";

export interface LiveStatusOptions {
  readonly terminal: NodeJS.WritableStream;
  /** Width of the terminal in cells. */
  readonly columns: number;
  readonly paint: Paint;
  readonly clock: Clock;
  readonly title: string;
}

export class LiveStatus {
  readonly #options: LiveStatusOptions;
  readonly #lines: RedrawnLines;
  #counts: PodCounts = { desired: 0, updated: 0, available: 0 };
  #message = "";
  #waits = "";
  #pace: Pace | undefined;

  constructor(options: LiveStatusOptions) {
    this.#options = options;
    this.#lines = new RedrawnLines(options.terminal, 3);
  }

  /** `message`: how far it is, in words. */
  show(object: AnyObject, message: string): void {
    this.#counts = podCounts(object);
    this.#message = message;
    const sample = { at: this.#options.clock.monotonic(), done: this.#counts.updated };
    this.#pace = paced(this.#pace, sample);
    this.#draw();
  }

  /** Empty: nothing holds it back. */
  waits(reason: string): void {
    this.#waits = reason;
    this.#draw();
  }

  end(): void {
    this.#lines.end();
  }

  #draw(): void {
    const { columns, paint, title } = this.#options;
    const picture = {
      title,
      counts: this.#counts,
      message: this.#message,
      waits: this.#waits,
      note: this.#note(),
    };
    this.#lines.show(statusLines(picture, columns, paint));
  }

  #note(): string {
    if (this.#pace === undefined) return "";
    const left = remainingMs(this.#pace, this.#counts.desired, this.#options.clock.monotonic());
    return left === undefined || left < 1_000 ? "" : `about ${age(left)} left`;
  }
}

export interface StatusPicture {
  readonly title: string;
  readonly counts: PodCounts;
  /** How far it is. */
  readonly message: string;
  /** The reason why it waits; empty: none is known. */
  readonly waits: string;
  /** How long the rest takes. */
  readonly note: string;
}

/** Three lines, none wider than `columns`. Pure. */
export function statusLines(picture: StatusPicture, columns: number, paint: Paint): string[] {
  const { title, counts, message, waits, note } = picture;
  const last = waits === "" ? message : `waits: ${waits}`;
  return [
    progressLine({ title, done: counts.updated, total: counts.desired, note, columns }, paint),
    clip(`  ${stateText(counts)}`, columns),
    paint(waits === "" ? "dim" : "yellow", clip(`  ${last}`, columns)),
  ];
}

/** `12 updated, 8 old, 2 not available`. */
function stateText({ desired, updated, available }: PodCounts): string {
  const parts = [
    [updated, "updated"],
    [Math.max(0, desired - updated), "old"],
    [Math.max(0, desired - available), "not available"],
  ] as const;
  return parts.map(([count, word]) => `${count} ${word}`).join(", ");
}
