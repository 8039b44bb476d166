/** Many small workloads at once. */
import type { KubeObject } from "../../kube/index.ts";
import { eachInFlight } from "../in_flight.ts";
import { type PhasePlan, runPhase } from "../measure/phase.ts";
import { isTouched, runs } from "../measure/pod_state.ts";
import type { Phase } from "../measure/result.ts";
import { amountOf, type Scenario, type Stage } from "../scenario.ts";
import { firstImage, secondImage } from "../workloads.ts";

const atOnce = 16;

export const many: Scenario = {
  name: "many",
  summary: "--pods in CloneSets of --size pods each, created and updated all at once",
  kinds: ["CloneSet"],
  usualPods: 10_000,
  async run(stage) {
    const workloads = new ManyWorkloads(stage);
    const created = await workloads.create();
    const updated = await workloads.update({ name: "rollout in place", image: secondImage });
    return { phases: [created, updated], limit: await stage.measureLimit() };
  },
};

export interface Rollout extends Pick<PhasePlan, "name" | "facts"> {
  readonly image: string;
  /** What happens once all workloads have been changed. */
  readonly meanwhile?: () => Promise<void>;
}

/** CloneSets of one size, as many as make up the pods of the stage. */
export class ManyWorkloads {
  readonly #stage: Stage;
  readonly #names: readonly string[];
  readonly #replicas: number;
  readonly #budget: number;
  /** By name, of those that were created. */
  readonly uids = new Map<string, string>();

  constructor(stage: Stage) {
    const { pods, size, maxUnavailable } = stage.settings;
    this.#stage = stage;
    this.#replicas = Math.min(size, pods);
    const count = Math.max(1, Math.floor(pods / this.#replicas));
    this.#names = Array.from({ length: count }, (_, index) => `bench-${index + 1}`);
    this.#budget = amountOf(maxUnavailable, this.#replicas);
  }

  /** All together. */
  get pods(): number {
    return this.#names.length * this.#replicas;
  }

  create(): Promise<Phase> {
    const replicas = this.#replicas;
    return runPhase(this.#stage, {
      name: "create",
      pods: this.pods,
      begin: () => eachInFlight(this.#names, atOnce, (name) => this.#create(name)),
      arrived: (pod) => runs(pod, firstImage),
      touched: () => true,
      budget: { replicas, maxPods: replicas },
      facts: () => ({ workloads: this.#names.length, "pods each": replicas }),
    });
  }

  async #create(name: string): Promise<void> {
    const { workloads } = this.#stage;
    const options = { name, replicas: this.#replicas, maxUnavailable: this.#budget };
    const { metadata }: KubeObject = await workloads.create({ kind: "CloneSet", ...options });
    this.uids.set(name, metadata.uid ?? "");
  }

  update({ image, meanwhile, ...plan }: Rollout): Promise<Phase> {
    const { workloads } = this.#stage;
    return runPhase(this.#stage, {
      ...plan,
      pods: this.pods,
      begin: async () => {
        await eachInFlight(this.#names, atOnce, (name) => workloads.update("CloneSet", name, image));
        await meanwhile?.();
      },
      arrived: (pod) => runs(pod, image),
      remaining: this.pods,
      touched: (pod) => isTouched(pod, image),
      budget: { replicas: this.#replicas, maxUnavailable: this.#budget },
    });
  }
}
