/** One story, told from its beginning until the cluster rests. */
import { createHash } from "node:crypto";
import { Cast } from "./cast.ts";
import { SimulatedCluster } from "./cluster.ts";
import { keepHooks } from "./hook_keeper.ts";
import { Observer, type Violation } from "./observer/observer.ts";
import { type Story, staleMsAt } from "./story.ts";

export interface Run {
  readonly violations: readonly Violation[];
  readonly simulatedMs: number;
  /** Of controllers. */
  readonly writes: number;
  /** Of each stored write, its time and its author: the same for the same story. */
  readonly digest: string;
  readonly trace: readonly string[];
}

/** Beyond the longest back-off of what failed while things went wrong. */
const longestUntilSettledMs = 3_600_000;
/** Beyond the longest back-off of a controller that could not write, and a clock that went ahead. */
const longestUntilRunMs = 1_200_000;
const lookEveryMs = 5_000;
/** Nobody writes for so long. */
const restMs = 120_000;

export async function run(story: Story): Promise<Run> {
  const log: string[] = [];
  let observer: Observer | undefined;
  const cluster = new SimulatedCluster({
    ...story,
    log: (replica, level, message, fields) => {
      if (level === "warn" || level === "error")
        log.push(`${replica} ${level} ${message} ${JSON.stringify(fields)}`);
    },
    refused: (replica, method, path) => observer?.refused(replica, method, path),
    unexpected: (replica, where) =>
      observer?.violation(
        "errors",
        `${replica} met an error that nobody expected in: ${where}: ${log.at(-1)}`,
      ),
  });
  const cast = new Cast(cluster);
  observer = new Observer(cluster, (now) => staleMsAt([...story.stale, ...cast.stale], now));
  keepHooks(cluster, story.hooksHeldMs ?? 1_000);
  const { clock } = cluster;
  const { violations } = observer;
  const isWrong = (): boolean => violations.length > 0;
  for (const step of story.steps) {
    await clock.pass(step.at - clock.monotonic(), isWrong);
    if (isWrong()) break;
    observer.trace.push(`${Math.round(step.at)} story ${JSON.stringify(step.do)}`);
    if (step.do.act === "edit status") observer.statusMadeUpAt = clock.monotonic();
    cast.do(step.do);
  }
  if (!isWrong()) await settle(cluster, cast, observer, story, isWrong);
  const result = {
    violations: [...violations],
    simulatedMs: clock.monotonic(),
    writes: observer.writes,
    digest: createHash("sha256").update(observer.trace.join("\n")).digest("hex").slice(0, 16),
    trace: observer.trace,
  };
  await cluster.stop();
  return result;
}

async function settle(
  { clock }: SimulatedCluster,
  cast: Cast,
  observer: Observer,
  story: Story,
  isWrong: () => boolean,
): Promise<void> {
  await clock.pass(1_000, isWrong);
  cast.end(story.replicas);
  observer.trace.push(`${Math.round(clock.monotonic())} story all is well from now on`);
  const until = clock.monotonic() + longestUntilSettledMs;
  const lost = observer.runsMissing(clock.now());
  await clock.pass(longestUntilRunMs, () => isWrong() || lost().length === 0);
  for (const text of isWrong() ? [] : lost()) observer.violation("runs", text);
  cast.pauseCronJobs();
  while (clock.monotonic() - observer.lastWriteAt < restMs || observer.missing().length > 0) {
    if (clock.monotonic() > until) {
      const missing = observer.missing();
      const what = missing.length > 0 ? missing.slice(0, 5).join("; ") : "controllers go on writing";
      observer.violation("settled", `not settled an hour after all was well: ${what}`);
    }
    if (isWrong()) return;
    await clock.pass(lookEveryMs, isWrong);
  }
}
