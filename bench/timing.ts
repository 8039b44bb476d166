/** How long hollow nodes take and how often they fail: from the command line's words to the stages' numbers. */
import { type Delay, profiles, type Timing } from "../sandbox/index.ts";
import { UsageError } from "./errors.ts";

export interface Failures {
  /** Share of the containers that end once, shortly after their first start, and are restarted. */
  readonly crash: number;
  /** Share of the pods whose image cannot be pulled at first. */
  readonly pull: number;
}

export interface NodeBehaviour {
  readonly timing: Timing;
  readonly failures: Failures;
}

/** `200`, `100-400` (uniform), `100-4000:tail` (most near the first, few near the last); milliseconds. */
export function parseDelay(text: string, flag: string): Delay {
  const match = /^(\d{1,7})(?:-(\d{1,7})(:tail)?)?$/.exec(text);
  const from = Number(match?.[1]);
  const to = Number(match?.[2] ?? match?.[1]);
  if (match === null || to < from)
    throw new UsageError(
      `--${flag} must be milliseconds like 200, 100-400 or 100-4000:tail, not ${JSON.stringify(text)}`,
    );
  return { from, to, ...(match[3] === undefined ? {} : { shape: "tail" as const }) };
}

/** `1%` or `0.5%` as a share. */
export function parseShare(text: string, flag: string): number {
  const match = /^(\d{1,3}(?:\.\d+)?)%$/.exec(text);
  const share = Number(match?.[1]) / 100;
  if (match === null || share > 1)
    throw new UsageError(`--${flag} must be a percentage like 1%, not ${JSON.stringify(text)}`);
  return share;
}

export interface DelayWords {
  readonly start: string;
  readonly pull: string;
  readonly ready: string;
  readonly crash: string;
  readonly pullFailures: string;
}

/** The bench profile with what the command line departs from. */
export function behaviourOf(words: DelayWords): NodeBehaviour {
  const start = parseDelay(words.start, "start");
  const pull = parseDelay(words.pull, "pull");
  const ready = parseDelay(words.ready, "ready");
  return {
    timing: {
      ...profiles.bench,
      start,
      pull,
      ready,
      // What follows within this time goes into one report; a node that becomes ready late reports its start first.
      settleMs: Math.max(profiles.bench.settleMs, Math.min(1_000, start.to + 50)),
      backOff: { firstMs: 1_000, longestMs: 30_000 },
    },
    failures: {
      crash: parseShare(words.crash, "crash"),
      pull: parseShare(words.pullFailures, "pull-failures"),
    },
  };
}
