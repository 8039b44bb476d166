/** What a file that "refit ui --record" writes holds. The server writes it, the page reads it. */
import type { Change } from "./differences.ts";
import type { Item } from "./items.ts";

/** Type of the elements that hold the data. The number changes when older pages cannot read the lines. */
export const blockType = "application/x-refit-recording-1";

/** A change of the list (`feed` is empty) or of one workload, or how the recording ended: last, and once. */
export type RecordedLine =
  | { readonly feed: string; readonly change: Change<Item> }
  | { readonly end: RecordingEnd };

/** `full`: the file had its largest size. */
export type RecordingEnd = "stopped" | "full";

/**
 * Lines of the blocks, which are JSON lines, packed with gzip, in base64. Reading ends at the first block that is broken: the
 * last one is when the writer was killed.
 */
export async function readBlocks(blocks: Iterable<string>): Promise<RecordedLine[]> {
  const lines: RecordedLine[] = [];
  for (const block of blocks) {
    const read = await linesOf(block).catch(() => undefined);
    if (read === undefined) break;
    for (const line of read) lines.push(line);
  }
  return lines;
}

async function linesOf(block: string): Promise<RecordedLine[]> {
  const bytes = Uint8Array.from(atob(block), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(unpacked).text()).split("\n").map((line): RecordedLine => JSON.parse(line));
}
