import t from "tap";
import { testClock } from "../testkit/kube/fake_clock.ts";
import { testLog } from "../testkit/kube/fake_log.ts";
import { type ControllerOptions, queueObserver, runController, TerminalError } from "./controller_runner.ts";
import { KubeError } from "./errors.ts";
import { nullMetrics } from "./metrics_types.ts";
import { WorkQueue } from "./queue.ts";

function started(reconcile: ControllerOptions["reconcile"], more: Partial<ControllerOptions> = {}) {
  const clock = testClock();
  const log = testLog();
  const results: string[] = [];
  const stopping = new AbortController();
  const metrics = {
    ...nullMetrics,
    reconcileFinished: (name: string, result: string) => results.push(`${name} ${result}`),
  };
  const queue = new WorkQueue({ clock, observer: queueObserver(metrics, "test") });
  const ended = runController({
    name: "test",
    queue,
    workers: 2,
    reconcile,
    clock,
    log,
    metrics,
    signal: stopping.signal,
    ...more,
  });
  return { clock, log, results, queue, ended, stop: () => stopping.abort() };
}

t.test("done, wake after, backoff by code, terminal, panic", async (t) => {
  const runs = new Map<string, number>();
  const outcomes: Record<string, () => Promise<{ requeueAfterMs?: number } | undefined>> = {
    ok: async () => undefined,
    wake: async () => ({ requeueAfterMs: 1_000 }),
    conflict: () => Promise.reject(new KubeError("Conflict", "newer")),
    busy: () => Promise.reject(new KubeError("TooManyRequests", "slow", { retryAfterMs: 3_000 })),
    terminal: () => Promise.reject(new TerminalError("pointless")),
    panic: () => Promise.reject(new TypeError("undefined is not a function")),
  };
  const { clock, log, results, queue, ended, stop } = started(async (key) => {
    runs.set(key, (runs.get(key) ?? 0) + 1);
    return outcomes[key]?.();
  });
  for (const key of Object.keys(outcomes)) queue.add(key);
  await clock.settle();
  t.same(results.sort(), [
    "test error",
    "test panic",
    "test requeue",
    "test requeue_after",
    "test success",
    "test terminal_error",
  ]);
  const panic = log.lines.find((line) => /unexpected/.test(line.message));
  t.match(panic, {
    level: "error",
    fields: {
      key: "panic",
      controller: "test",
      error: { name: "TypeError", stack: /controller_runner_test/ },
    },
  });
  await clock.advance(1_500);
  t.equal(runs.get("ok"), 1);
  t.equal(runs.get("wake"), 2);
  t.equal(runs.get("busy"), 1, "Retry-After is a lower bound");
  t.equal(runs.get("terminal"), 1);
  t.ok((runs.get("conflict") ?? 0) > 4, "5, 10, 20, 40, ... ms");
  await clock.advance(2_000);
  t.equal(runs.get("busy"), 2);
  stop();
  await ended;
});

t.test("stop waits for what runs, takes nothing more, and abandons what does not end", async (t) => {
  const finish = Promise.withResolvers<undefined>();
  const signals: AbortSignal[] = [];
  const { clock, log, queue, ended, stop } = started(
    (key, signal) => {
      signals.push(signal);
      return key === "slow" ? finish.promise : new Promise(() => undefined);
    },
    { stopTimeoutMs: 5_000 },
  );
  queue.add("slow");
  queue.add("stuck");
  queue.add("later");
  await clock.settle();
  stop();
  let over = false;
  void ended.then(() => {
    over = true;
  });
  finish.resolve(undefined);
  await clock.advance(4_900);
  t.notOk(over);
  t.notOk(signals.some((signal) => signal.aborted));
  await clock.advance(200);
  t.ok(over);
  t.equal(signals.length, 2, "the third key was not begun");
  t.ok(signals.every((signal) => signal.aborted));
  t.match(log.lines.at(-1)?.fields, { keys: ["stuck"] });
});
