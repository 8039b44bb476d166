/** What a scenario is, and what it is given. */
import type { Random } from "../kube/index.ts";
import type { Cluster } from "../sandbox/index.ts";
import type { HollowCluster } from "./hollow_cluster.ts";
import type { Replicas } from "./manager.ts";
import type { Bench } from "./measure/phase.ts";
import type { Limit, Phase, Soak } from "./measure/result.ts";
import type { WorkloadKind, Workloads } from "./workloads.ts";

export interface ScenarioSettings {
  readonly pods: number;
  readonly nodes: number;
  /** Number or percentage, as given. */
  readonly maxUnavailable: string;
  /** Pods of one workload of `many`, `replicas` and `hold`. */
  readonly size: number;
  /** Partitions of `partition`, in order: numbers or percentages. */
  readonly steps: readonly string[];
  /** Requests at once of `admission`, `newpods`, `webhook` and `sidecarset`. */
  readonly inFlight: number;
  /** SidecarSets of `webhook`. */
  readonly sidecarSets: number;
  /** Targets of `resourcedistribution`. */
  readonly namespaces: number;
  /** Patches of each kind of `limit`; 0: none. */
  readonly limitPatches: number;
  /** Of `soak`. */
  readonly minutes: number;
}

export interface Stage extends Bench {
  readonly settings: ScenarioSettings;
  readonly namespace: string;
  readonly run: string;
  readonly random: Random;
  readonly hollow: HollowCluster;
  readonly workloads: Workloads;
  /** Kills the manager and starts it again; only where the bench started it. Milliseconds until it said that it is ready. */
  readonly restartManager?: (whileDown?: () => Promise<void>) => Promise<number>;
  /** Heap of the manager after a collection, MB; only where the scenario is `inspected`. */
  readonly collectedHeapMb?: () => Promise<number>;
  /** Of the manager; only where the scenario is `replicated`. */
  readonly replicas?: Replicas;
  /** The state of the sandbox, where that is the server. */
  readonly memory?: Cluster;
  /** A bare loop of patches with a client of its own. */
  measureLimit(): Promise<Limit | undefined>;
}

export interface Outcome {
  readonly phases: readonly Phase[];
  readonly limit?: Limit | undefined;
  readonly soak?: Soak;
}

export interface Scenario {
  readonly name: string;
  /** One line of the usage. */
  readonly summary: string;
  /** Kinds that the API server must serve. */
  readonly kinds: readonly WorkloadKind[];
  /** Default of `--pods`; else 1,000. */
  readonly usualPods?: number;
  /** One pod a node: `--pods` is the number of nodes. */
  readonly perNode?: boolean;
  /** Pods that the bench's own nodes run, where these are not `--pods`. */
  madePods?(settings: Pick<ScenarioSettings, "size">): number;
  /** Feature gates of the manager that the bench starts. */
  readonly gates?: string;
  /** Only with a manager that the bench starts. */
  readonly ownManager?: boolean;
  /** The manager stands for election, as in a cluster. */
  readonly elects?: boolean;
  /** The manager has --replicas, which share --shards. */
  readonly replicated?: boolean;
  /** The heap of the manager can be collected. */
  readonly inspected?: boolean;
  run(stage: Stage): Promise<Outcome>;
}

/** `10%` rounded up, or a number, of `of`; at least 1. */
export function amountOf(text: string, of: number): number {
  return Math.max(1, shareOf(text, of));
}

/** `10%` rounded up, or a number, of `of`. */
export function shareOf(text: string, of: number): number {
  const value = Number.parseFloat(text);
  return text.endsWith("%") ? Math.ceil((of * value) / 100) : value;
}
