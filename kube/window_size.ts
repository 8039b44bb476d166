/**
 * How many requests may be in flight: found, not configured.
 *
 * The size moves along a ladder. While the window is the bottleneck, each epoch (a number of answers and a while)
 * measures what the current rung carries; how much more a larger one has to carry is the aim's. What is in flight beyond what
 * the server works on waits there, and pods that are out of service wait with it. Neighbours that were never measured, or long
 * ago, are tried for one epoch. A refusal (429) or a timeout halves the size at once, and for
 * some epochs the rung that was refused and those above it are worth nothing.
 */

/** The largest size there is. */
export const mostInFlight = 64;

export const ladder: readonly number[] = [4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, mostInFlight];

/**
 * What the size is to be good for: `throughput`, where a window twice as large has to carry a third more, or `latency`, where it
 * has to carry half as much again: so it still grows on a distant server, and does not on a busy one.
 */
export type Aim = "throughput" | "latency";

export const aims: readonly Aim[] = ["throughput", "latency"];

interface Scale {
  /** A rung is worth `size^exponent / latency`. */
  readonly exponent: number;
  /** Latency alone never shrinks the window below this rung; refusals may go lower. */
  readonly lowest: number;
}

const scales: Record<Aim, Scale> = {
  // With fewer in flight the round trips themselves are the limit, and what is measured is the noise of a busy machine.
  throughput: { exponent: 0.6, lowest: ladder.indexOf(8) },
  latency: { exponent: 0.45, lowest: 0 },
};

export interface WindowSize {
  readonly aim: Aim;
  /** Index into `ladder`. */
  readonly rung: number;
  /** Per rung: its worth and the epoch in which it was measured last. */
  readonly worth: readonly ({ readonly value: number; readonly epoch: number } | undefined)[];
  readonly epoch: number;
  /** The rung to return to when the one being tried turns out worse. */
  readonly home: number;
  readonly answers: number;
  readonly latencySum: number;
  /** Answers of the epoch during which the window was full. */
  readonly full: number;
  /** Answers that are left out of the epoch: they were sent under the former size. */
  readonly skip: number;
  /** Further refusals that say nothing new: they were sent before the size was halved. */
  readonly calm: number;
}

export type Sample =
  | {
      readonly type: "answer";
      readonly latencyMs: number /** The window was full meanwhile. */;
      readonly full: boolean;
    }
  | { readonly type: "refused" };

/** An epoch lasts at least so long; while the window is full, time is the sum of latencies over its size. */
const shortestEpochMs = 100;
/** What is measured is stale after so many epochs. */
const staleEpochs = 24;
/** A neighbour must be worth this much more to move there. */
const margin = 1.02;
/** Weight of the newest measurement of a rung. */
const newest = 0.5;

export function windowSizeAt(aim: Aim, size: number): WindowSize {
  const rung = Math.max(
    0,
    ladder.findLastIndex((step) => step <= size),
  );
  const worth = ladder.map(() => undefined);
  return measuring({ aim, rung, worth, epoch: 0, home: rung }, ladder[rung]);
}

export function limitOf(state: WindowSize): number {
  return ladder[state.rung] ?? 4;
}

/** The next state; pure. */
export function stepWindowSize(state: WindowSize, sample: Sample): WindowSize {
  const calm = Math.max(0, state.calm - 1);
  if (sample.type === "refused") return state.calm > 0 ? { ...state, calm } : refused(state);
  if (state.skip > 0) return { ...state, calm, skip: state.skip - 1 };
  const next = {
    ...state,
    calm,
    answers: state.answers + 1,
    latencySum: state.latencySum + Math.max(0.01, sample.latencyMs),
    full: state.full + (sample.full ? 1 : 0),
  };
  // What fits into one pause of a garbage collector measures nothing.
  const elapsedMs = next.latencySum / limitOf(state);
  if (next.answers < Math.max(32, 3 * limitOf(state)) || elapsedMs < shortestEpochMs) return next;
  // A window that was not used up says nothing about its size.
  if (next.full < 0.8 * next.answers) return measuring(next);
  return endEpoch(next);
}

/** At the beginning of an epoch: the next `skip` answers are of requests that were sent before. */
function measuring(
  { aim, rung, worth, epoch, home }: Pick<WindowSize, "aim" | "rung" | "worth" | "epoch" | "home">,
  skip = 0,
): WindowSize {
  return { aim, rung, worth, epoch, home, answers: 0, latencySum: 0, full: 0, skip, calm: 0 };
}

function endEpoch(state: WindowSize): WindowSize {
  const epoch = state.epoch + 1;
  const measured = limitOf(state) ** scales[state.aim].exponent / (state.latencySum / state.answers);
  const before = current(state, state.rung);
  const value = before === undefined ? measured : before * (1 - newest) + measured * newest;
  const worth = state.worth.map((each, rung) => (rung === state.rung ? { value, epoch } : each));
  const measuredState = { ...state, worth, epoch };
  const best = bestNear(measuredState);
  const untried = [best + 1, best - 1].find(
    (rung) =>
      (rung > best || rung >= scales[state.aim].lowest) &&
      rung < ladder.length &&
      current(measuredState, rung) === undefined,
  );
  const rung = untried ?? best;
  return measuring({ ...measuredState, rung, home: best }, rung === state.rung ? 0 : limitOf(state));
}

/** The best of where the window was at home, where it is now, and the neighbours that are known. */
function bestNear(state: WindowSize): number {
  let best = state.home;
  for (const rung of [state.home - 1, state.home + 1, state.rung]) {
    if (rung < scales[state.aim].lowest && rung < state.home) continue;
    const value = current(state, rung);
    const held = current(state, best);
    if (value !== undefined && (held === undefined || value > held * margin)) best = rung;
  }
  return best;
}

function current(state: WindowSize, rung: number): number | undefined {
  const known = state.worth[rung];
  return known && state.epoch - known.epoch < staleEpochs ? known.value : undefined;
}

function refused(state: WindowSize): WindowSize {
  const half = limitOf(state) / 2;
  const rung = Math.max(
    0,
    ladder.findLastIndex((step) => step <= half),
  );
  // What was refused is known to be too much. Between it and half of it is where the size was good: it comes back there soon.
  const tooMuch = Math.max(state.rung, rung + 1);
  const worth = state.worth.map((each, at) => (at < tooMuch ? each : { value: 0, epoch: state.epoch }));
  return { ...measuring({ ...state, rung, worth, home: rung }, limitOf(state)), calm: limitOf(state) - 1 };
}
