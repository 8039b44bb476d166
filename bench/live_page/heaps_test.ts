/** When heaps of a run are level, and when there is no telling. */
import t from "tap";
import { fullAfterMs, type HeapSample, heapVerdicts, verdictWords } from "./heaps.ts";

const changes = 500;
const minute = 60_000;

/** A sample every 10 seconds. */
function run(minutes: number, heaps: (atMs: number) => Omit<HeapSample, "atMs">): HeapSample[] {
  return Array.from({ length: minutes * 6 + 1 }, (_, index) => {
    const atMs = index * 10_000;
    return { atMs, ...heaps(atMs) };
  });
}

/** As a page does: it fills, then it forgets half of what it has, and fills again. */
function sawtooth(atMs: number): number {
  const full = fullAfterMs(changes);
  return 10 + (atMs < full ? (20 * atMs) / full : 20 + 10 * ((((atMs - full) / full) * 2) % 1) - 10);
}

const levels = (samples: readonly HeapSample[]) =>
  heapVerdicts(samples, changes)?.map(({ isSteady }) => isSteady);

t.test("a page that fills, forgets and fills again is level", async (t) => {
  t.strictSame(levels(run(60, (atMs) => ({ pageMb: sawtooth(atMs), serverMb: 90 }))), [true, true]);
});

t.test("what grows without an end is not level, on either side", async (t) => {
  const grows = (atMs: number): number => atMs / minute / 2;
  t.strictSame(levels(run(60, (atMs) => ({ pageMb: sawtooth(atMs) + grows(atMs), serverMb: 90 }))), [
    false,
    true,
  ]);
  t.strictSame(levels(run(60, (atMs) => ({ pageMb: 20, serverMb: 90 + grows(atMs) }))), [true, false]);
});

t.test("a run that ends before the page is full tells nothing", async (t) => {
  t.equal(
    heapVerdicts(
      run(5, (atMs) => ({ pageMb: atMs / minute, serverMb: 90 })),
      changes,
    ),
    undefined,
  );
  t.equal(heapVerdicts([], changes), undefined);
});

t.test("a verdict says the slope a minute", async (t) => {
  const [page] =
    heapVerdicts(
      run(15, (atMs) => ({ pageMb: atMs / minute, serverMb: 90 })),
      changes,
    ) ?? [];
  t.match(page && verdictWords(page), /^heap of the page: \+1\.00 MB a minute, .* 5 allowed: NOT LEVEL$/);
});
