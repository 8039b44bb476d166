/** Schedules that come due at the same time: how late each run is, and whether one is lost or made twice. */
import { eachInFlight } from "../in_flight.ts";
import { runPhase } from "../measure/phase.ts";
import { ascending, quantile } from "../measure/statistics.ts";
import type { Scenario, Stage } from "../scenario.ts";

/** Runs of each cron job that are awaited. */
const ROUNDS = 2;
/** On pods of BroadcastJobs: the job, which has the time of its run in its name. */
const JOB_LABEL = "broadcastjob-name";

export const cronjob: Scenario = {
  name: "cronjob",
  summary: "--pods AdvancedCronJobs come due together, twice; each run is a BroadcastJob of one pod",
  kinds: ["AdvancedCronJob", "BroadcastJob"],
  usualPods: 200,
  async run(stage) {
    const runs = new Runs(stage);
    const { pods: jobs, inFlight } = stage.settings;
    const seconds = Math.max(5, Math.ceil(jobs / 10));
    const stop = stage.board.subscribe(({ type, object }) => {
      const { uid = "", labels } = object.metadata;
      if (type === "added") runs.saw(uid, labels?.[JOB_LABEL] ?? "");
    });
    try {
      const phase = await runPhase(stage, {
        name: "due together",
        pods: jobs * ROUNDS,
        begin: () =>
          eachInFlight(Array.from({ length: jobs }).keys(), inFlight, (index) =>
            stage.workloads.create({
              kind: "AdvancedCronJob",
              name: `cron-${index}`,
              replicas: 1,
              maxUnavailable: 1,
              schedule: `@every ${seconds}s`,
              node: stage.hollow.nodes[index % stage.hollow.nodes.length] ?? "",
            }),
          ),
        arrived: (pod) => runs.isCounted(pod.metadata.labels?.[JOB_LABEL] ?? "", ROUNDS),
        touched: () => true,
        facts: () => runs.facts(jobs, seconds),
      });
      return { phases: [phase] };
    } finally {
      stop();
    }
  },
};

/** Every run by its cron job and time, as its first pod tells. */
class Runs {
  readonly #stage: Stage;
  /** Milliseconds after its time at which the run's pod was seen, by the name of its job. */
  readonly #lateMs = new Map<string, number>();
  readonly #times = new Map<string, number[]>();
  readonly #pods = new Set<string>();
  #twice = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  saw(pod: string, job: string): void {
    const dash = job.lastIndexOf("-");
    const cron = job.slice(0, dash);
    const time = Number(job.slice(dash + 1));
    if (!Number.isInteger(time) || this.#pods.has(pod)) return;
    this.#pods.add(pod);
    if (this.#lateMs.has(job)) {
      this.#twice++;
      return;
    }
    this.#lateMs.set(job, this.#stage.clock.now() - time * 1000);
    this.#times.set(
      cron,
      [...(this.#times.get(cron) ?? []), time].sort((a, b) => a - b),
    );
  }

  /** Whether the run is one of the first of its cron job. */
  isCounted(job: string, rounds: number): boolean {
    const dash = job.lastIndexOf("-");
    const times = this.#times.get(job.slice(0, dash)) ?? [];
    const place = times.indexOf(Number(job.slice(dash + 1)));
    return place >= 0 && place < rounds;
  }

  facts(jobs: number, seconds: number): Record<string, number> {
    const late = ascending(this.#lateMs.values());
    let lost = jobs - this.#times.size;
    for (const times of this.#times.values()) {
      for (const [index, time] of times.entries()) {
        const before = times[index - 1];
        if (before !== undefined) lost += Math.round((time - before) / seconds) - 1;
      }
    }
    return {
      "between runs, s": seconds,
      "runs seen": late.length,
      "runs lost": lost,
      "runs made twice": this.#twice,
      "lateness p50, ms": Math.round(quantile(late, 0.5)),
      "lateness p99, ms": Math.round(quantile(late, 0.99)),
      "longest lateness, ms": Math.round(late.at(-1) ?? Number.NaN),
    };
  }
}
