/** Lines of a container's log, each with its time in front, and how far a log was read: it goes on there when it is read again. */

export interface LogLine {
  /** RFC 3339 with up to nine digits of a second, as the kubelet writes it; empty for what it says itself. */
  readonly time: string;
  readonly text: string;
}

/** Whole lines of a stream. What follows the last end of a line is one when the stream ends, and none when it breaks. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<LogLine> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines.map(logLine);
  }
  rest += decoder.decode();
  if (rest !== "") yield logLine(rest);
}

function logLine(line: string): LogLine {
  const [, time = "", text = line] = /^(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) ?(.*)$/s.exec(line) ?? [];
  return { time, text };
}

/** How far the log of one container was read, over its restarts. */
export class LogPlace {
  #last: { readonly time: string; readonly at: bigint; readonly times: number } | undefined;

  /** Of the last line that was new. */
  get time(): string | undefined {
    return this.#last?.time;
  }

  /**
   * For one reading that begins at `time`: tells of each line in turn whether it is new. A server knows whole seconds alone,
   * so that lines before and at that time come once more.
   */
  reading(): (line: LogLine) => boolean {
    const before = this.#last;
    let again = 0;
    let isNew = before === undefined;
    return ({ time }) => {
      const at = nanoseconds(time);
      if (at === undefined) return true;
      if (!isNew && before !== undefined) {
        if (at < before.at || (at === before.at && again++ < before.times)) return false;
        isNew = true;
      }
      const times = this.#last?.at === at ? this.#last.times + 1 : 1;
      this.#last = { time, at, times };
      return true;
    };
  }
}

/** Since 1970; undefined for what is no time. */
function nanoseconds(time: string): bigint | undefined {
  const [, second = "", fraction = "", zone = ""] =
    /^([^.Z+]+?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(time) ?? [];
  const ms = Date.parse(second + zone);
  return Number.isNaN(ms) ? undefined : BigInt(ms) * 1_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, "0"));
}
