import t from "tap";
import { testClock } from "../testkit/kube/fake_clock.ts";
import { queueObserver } from "./controller_runner.ts";
import { createRegistry } from "./metrics.ts";
import { nullMetrics } from "./metrics_types.ts";
import { createStageMetrics, followEventLoop } from "./stage_metrics.ts";

t.test("each stage has its histogram, a queue by its controller", async (t) => {
  const registry = createRegistry();
  const stages = createStageMetrics(registry);
  queueObserver({ ...nullMetrics, stages }, "cloneset-controller").started(0, 3);
  stages.windowWaited("urgent", 5);
  stages.answered("urgent", 20);
  stages.loopDelayed(1);
  const lines = (await registry.metrics()).split("\n").filter((line) => /_sum\b/.test(line));
  t.strictSame(lines, [
    'refit_stage_queue_seconds_sum{controller="cloneset-controller"} 0.003',
    'refit_stage_window_seconds_sum{priority="urgent"} 0.005',
    'refit_stage_answer_seconds_sum{priority="urgent"} 0.02',
    "refit_stage_event_loop_seconds_sum 0.001",
  ]);
});

t.test("the event loop is followed until it is told to stop", async (t) => {
  const clock = testClock();
  const late: number[] = [];
  let busyMs = 0;
  const busy = { ...clock, after: (ms: number, run: () => void) => clock.after(ms + busyMs, run) };
  const stop = followEventLoop(busy, { loopDelayed: (ms) => late.push(ms) });
  busyMs = 7;
  clock.skip(10);
  clock.skip(17);
  t.strictSame(late, [0, 7]);
  stop();
  clock.skip(100);
  t.equal(late.length, 2);
});
