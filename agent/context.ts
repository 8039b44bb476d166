/** What every feature of the agent is given. */
import type { Client, Clock, Events, Log, Metrics, Random } from "../kube/index.ts";
import type { ContainerRestarter } from "./containers/restarter.ts";
import type { AgentMetrics } from "./metrics.ts";
import type { PodWatch } from "./pod_watch.ts";
import type { ProbeRunner } from "./probes/runner.ts";
import type { RuntimeFinder } from "./runtime_socket/finder.ts";
import type { AgentSettings } from "./settings.ts";
import type { StateStore } from "./state/store.ts";

export interface AgentContext {
  readonly settings: AgentSettings;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly agentMetrics: AgentMetrics;
  readonly events: Events;
  readonly finder: RuntimeFinder;
  readonly state: StateStore;
  readonly pods: PodWatch;
  readonly restarter: ContainerRestarter;
  /** Of all probes together: they share the memory. */
  readonly probes: ProbeRunner;
}

/** A running part of the agent. */
export interface Feature {
  /** Name of its health check, `nodeImageInformerSynced`. */
  readonly name: string;
  /** Resolves when its watch has delivered everything once. */
  readonly synced: Promise<void>;
  stop(): Promise<void>;
}
