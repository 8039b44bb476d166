/** Workloads of four kinds come, scale, are rolled out and go for as long as asked; what the controller holds stays level. */
import { listAll } from "../../kube/index.ts";
import type { PodObject } from "../../sandbox/index.ts";
import { sleep, until } from "../measure/phase.ts";
import { workloadOf } from "../measure/pod_board.ts";
import { podStateOf, runs } from "../measure/pod_state.ts";
import type { Soak } from "../measure/result.ts";
import { SoakSamples } from "../measure/soak_samples.ts";
import { podObjects, revisionObjects } from "../resources.ts";
import type { Scenario, Stage } from "../scenario.ts";
import { firstImage, secondImage, type WorkloadKind, workloadResources } from "../workloads.ts";

const kinds = ["CloneSet", "StatefulSet", "DaemonSet", "BroadcastJob"] as const;

export const soak: Scenario = {
  name: "soak",
  summary:
    "--minutes of churn over four kinds: heap, handles, watches, files and renewals stay level, and nothing is left",
  kinds,
  usualPods: 40,
  ownManager: true,
  elects: true,
  inspected: true,
  run: async (stage) => ({ phases: [], soak: await soakFor(stage) }),
};

async function soakFor(stage: Stage): Promise<Soak> {
  const { clock, progress } = stage;
  const { minutes } = stage.settings;
  const churn = new Churn(stage);
  const samples = new SoakSamples(stage);
  progress.begin("soak", minutes);
  const started = clock.monotonic();
  const lasted = (): number => (clock.monotonic() - started) / 60_000;
  for (let round = 1; lasted() < minutes; round++) {
    await churn.round(round);
    await sleep(stage, stage.settleMs);
    await samples.take();
    progress.update(Math.floor(lasted()));
  }
  progress.end();
  const { rounds, workloads, podsMade, faults } = churn;
  const { atMs, values, levels } = samples.result();
  return { minutes: lasted(), rounds, workloads, podsMade, atMs, samples: values, levels, faults };
}

const nameOf = (kind: WorkloadKind, round: number): string => `${kind.toLowerCase()}-${round}`;

/** The life of one workload of each kind at a time, all four side by side; each is waited for. */
class Churn {
  readonly faults: string[] = [];
  readonly #stage: Stage;
  rounds = 0;
  workloads = 0;
  podsMade = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async round(round: number): Promise<void> {
    const { board } = this.#stage;
    /** By UID: whose pod it is. */
    const made = new Map<string, string | undefined>();
    const stop = board.subscribe(({ object }) => made.set(object.metadata.uid ?? "", workloadOf(object)));
    try {
      await Promise.all(kinds.map((kind) => this.#life(kind, nameOf(kind, round))));
      await this.#nothingLeft(round);
    } finally {
      stop();
    }
    for (const kind of kinds) {
      const name = nameOf(kind, round);
      const pods = [...made.values()].filter((workload) => workload === name).length;
      const wanted = this.#replicas(kind);
      if (pods !== wanted) this.faults.push(`${name}: ${pods} pods were made, ${wanted} were wanted`);
    }
    this.rounds++;
    this.workloads += kinds.length;
    this.podsMade += made.size;
  }

  #replicas(kind: WorkloadKind): number {
    const { pods, nodes } = this.#stage.settings;
    return kind === "DaemonSet" || kind === "BroadcastJob" ? nodes : Math.max(2, Math.ceil(pods / 2));
  }

  async #life(kind: WorkloadKind, name: string): Promise<void> {
    const { workloads } = this.#stage;
    const replicas = this.#replicas(kind);
    await workloads.create({ kind, name, replicas, maxUnavailable: Math.ceil(replicas / 10) });
    if (kind === "BroadcastJob") {
      await this.#until(name, replicas, (pod) => podStateOf(pod) === "finished");
    } else {
      await this.#until(name, replicas, (pod) => runs(pod, firstImage));
      const kept = kind === "DaemonSet" ? replicas : Math.ceil(replicas / 2);
      if (kept < replicas) await workloads.scale(kind, name, kept);
      await this.#until(name, kept, (pod) => runs(pod, firstImage));
      await workloads.update(kind, name, secondImage);
      await this.#until(name, kept, (pod) => runs(pod, secondImage));
    }
    await workloads.delete(kind, name);
    await this.#until(name, 0, () => true);
  }

  /** Until the workload has exactly so many pods and each is as wanted. */
  #until(name: string, count: number, isWanted: (pod: PodObject) => boolean): Promise<void> {
    const { board } = this.#stage;
    return until(this.#stage, `${name}: ${count} pods as wanted`, async () => {
      const pods = [...board.pods()].filter((pod) => workloadOf(pod) === name);
      return pods.length === count && pods.every(isWanted);
    });
  }

  /** Deleted in the background: what the workloads owned goes a moment after them. */
  async #nothingLeft(round: number): Promise<void> {
    let left: string[] = [];
    await until(this.#stage, "nothing is left", async () => {
      left = await this.#left();
      return left.length === 0;
    }).catch((error: unknown) => {
      if (left.length === 0) throw error;
      this.faults.push(`round ${round}: left are ${left.join(", ")}`);
    });
  }

  async #left(): Promise<string[]> {
    const { client, namespace } = this.#stage;
    const resources = [...kinds.map((kind) => workloadResources[kind]), podObjects, revisionObjects];
    const counted = resources.map(async (resource) => {
      const { length } = await listAll(client, resource, { namespace });
      return length === 0 ? [] : [`${length} ${resource.plural}`];
    });
    return (await Promise.all(counted)).flat();
  }
}
