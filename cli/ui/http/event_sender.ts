/** Changes as server-sent events, in their order. */
import type { Change } from "../shared/differences.ts";
import type { Item } from "../shared/items.ts";
import { type Piece, piecesOf } from "../shared/pieces.ts";

export interface EventSenderOptions {
  write(text: string): void;
  /** Runs it once what was written is under way: `setImmediate`. */
  later(run: () => void): void;
}

/** Some 1 MB of pods. */
const mostPiecesOfTurn = 10;

/**
 * The first piece has a turn of its own. What is written in one turn leaves the process at its end, so that the piece that a page shows
 * at once would wait for the text of thousands of pods.
 */
export class EventSender {
  readonly #options: EventSenderOptions;
  readonly #waiting: Piece<Item>[] = [];

  constructor(options: EventSenderOptions) {
    this.#options = options;
  }

  send(change: Change<Item>): void {
    const [first, ...rest] = piecesOf(change, isPod);
    if (first === undefined) return;
    if (this.#waiting.length > 0) this.#waiting.push(first, ...rest);
    else {
      this.#options.write(eventOf(first));
      this.#waiting.push(...rest);
      this.#goOn();
    }
  }

  #goOn(): void {
    if (this.#waiting.length === 0) return;
    this.#options.later(() => {
      for (const piece of this.#waiting.splice(0, mostPiecesOfTurn)) this.#options.write(eventOf(piece));
      this.#goOn();
    });
  }
}

const isPod = ({ is }: Item): boolean => is === "pod";

/** JSON has no line breaks of its own, so nothing in it can end the event. */
function eventOf(piece: Piece<Item>): string {
  return `data: ${JSON.stringify(piece)}\n\n`;
}
