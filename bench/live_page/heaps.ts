/** Heaps of the page and of its server over a run, each after a collection, and whether they stay level. Pure. */
import type { Steadiness } from "../measure/result.ts";
import { type Level, steadinessOf } from "../measure/steadiness.ts";

export interface HeapSample {
  readonly atMs: number;
  readonly pageMb: number;
  readonly serverMb: number;
}

const page: Level = { name: "heap of the page", unit: "MB", allowed: 5 };
const server: Level = { name: "heap of the server", unit: "MB", allowed: 5 };

/** What a page keeps of what it saw: each change as it came, and what takes it back. */
const mostKept = 300_000;
const fewestSamples = 6;

/** Milliseconds after which a page forgets as much as it takes in; until then it grows, as it should. */
export const fullAfterMs = (changesASecond: number): number => (mostKept / (2 * changesASecond)) * 1_000;

/** Undefined when the run was too short to tell: the first sample is of its beginning. */
export function heapVerdicts(
  samples: readonly HeapSample[],
  changesASecond: number,
): readonly Steadiness[] | undefined {
  const from = (samples[0]?.atMs ?? 0) + fullAfterMs(changesASecond);
  const full = samples.filter(({ atMs }) => atMs >= from);
  if (full.length < fewestSamples) return undefined;
  const times = full.map(({ atMs }) => atMs);
  return [
    steadinessOf(
      page,
      times,
      full.map(({ pageMb }) => pageMb),
    ),
    steadinessOf(
      server,
      times,
      full.map(({ serverMb }) => serverMb),
    ),
  ];
}

/** `heap of the page: +0.02 MB a minute, +1.10 ± 0.80 MB in all, 5 allowed: level`. */
export function verdictWords({ name, anHour, growth, uncertain, allowed, isSteady }: Steadiness): string {
  const signed = (value: number): string => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
  const grown = `${signed(growth)} ± ${uncertain.toFixed(2)} MB in all, ${allowed} allowed`;
  return `${name}: ${signed(anHour / 60)} MB a minute, ${grown}: ${isSteady ? "level" : "NOT LEVEL"}`;
}
