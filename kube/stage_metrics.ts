/** Where the time of a write goes, stage by stage: measured only where a flag asks for it. */
import { Histogram, type Registry } from "prom-client";
import type { Clock } from "./core/clock.ts";
import type { StageTimes } from "./metrics_types.ts";

/** From 0.25 ms to 8 s, a third or a half more each: quantiles of some milliseconds are to be told apart. */
const bounds = [
  0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 8192,
];

/** Longer than a turn of the event loop takes, shorter than what is looked for. */
const loopPeriodMs = 10;

/** Registers a histogram of each stage. */
export function createStageMetrics(registry: Registry): StageTimes {
  const make = (name: string, help: string, labelNames: string[]): Histogram => {
    const buckets = bounds.map((ms) => ms / 1000);
    return new Histogram({
      name: `refit_stage_${name}_seconds`,
      help,
      labelNames,
      buckets,
      registers: [registry],
    });
  };
  const queue = make("queue", "How long an object waited in the queue of its controller.", ["controller"]);
  const window = make("window", "How long a request waited for a place in the window.", ["priority"]);
  const answer = make("answer", "From the sending of a request to its whole answer.", ["priority"]);
  const loop = make(
    "event_loop",
    "How late a timer of 10 ms was: what an event waits for the code to be free.",
    [],
  );
  return {
    queued: (controller, ms) => queue.observe({ controller }, ms / 1000),
    windowWaited: (priority, ms) => window.observe({ priority }, ms / 1000),
    answered: (priority, ms) => answer.observe({ priority }, ms / 1000),
    loopDelayed: (ms) => loop.observe(ms / 1000),
  };
}

/** Measures the delay of the event loop until the returned function is called. */
export function followEventLoop(clock: Clock, stages: Pick<StageTimes, "loopDelayed">): () => void {
  const arm = () => {
    const due = clock.monotonic() + loopPeriodMs;
    return clock.after(loopPeriodMs, () => {
      stages.loopDelayed(Math.max(0, clock.monotonic() - due));
      timer = arm();
    });
  };
  let timer = arm();
  return () => timer.cancel();
}
