/** A comparison on a terminal: a table a phase. */
import type { Compared, ComparedPhase, Unit } from "../compare.ts";
import { alignTable } from "./table.ts";
import { amount, bytes, duration, megabytes } from "./words.ts";

const words: Readonly<Record<Unit, (value: number) => string>> = {
  ms: duration,
  bytes,
  MB: megabytes,
  requests: (value) => amount(value, "requests"),
  events: (value) => amount(value, "events"),
  "pod-seconds": (value) => amount(value, "pod-seconds"),
};

export const comparisonHead = ["figure", "before", "after", "ratio", "95 % interval", "verdict"] as const;

/** Cells of one figure: name, before, after, ratio, interval, verdict. */
export function comparisonRow({ figure, unit, before, after, ratio, interval }: Compared): string[] {
  return [
    figure,
    words[unit](before),
    words[unit](after),
    `${ratio.toFixed(2)}x`,
    interval === undefined ? "" : `${interval.low.toFixed(2)} to ${interval.high.toFixed(2)}`,
    interval === undefined ? "" : changeOf(interval),
  ];
}

/** Less is better in every figure; an interval around 1 says nothing. */
function changeOf({ low, high }: { low: number; high: number }): string {
  if (high < 1) return "better";
  return low > 1 ? "worse" : "";
}

export function comparisonTitle({ scenario, pods, phase, runs }: ComparedPhase): string {
  return `${scenario}, ${amount(pods, "pods")}: ${phase} (${amount(runs[0], "runs")} and ${amount(runs[1], "runs")})`;
}

export function comparisonText(compared: readonly ComparedPhase[]): string {
  return compared
    .map(
      (each) =>
        `${comparisonTitle(each)}\n${alignTable([comparisonHead, ...each.figures.map(comparisonRow)])}`,
    )
    .join("\n\n");
}

/** Said once where it is so; undefined otherwise. */
export function intervalHint(compared: readonly ComparedPhase[]): string | undefined {
  return compared.some(({ runs }) => Math.min(...runs) < 2)
    ? "one run on a side has no interval: --repeat 5 makes results that do"
    : undefined;
}
