/** What the observer looks at: a simulated cluster, or the record of a real one. */
import type { Cluster, Faults, StoredObject } from "../../sandbox/index.ts";

interface Times {
  /** Milliseconds since the epoch. */
  now(): number;
}

/**
 * Of an agent that keeps files: it died, was refused what it wanted to read for the first time in this life, or its runtime begins to
 * pull an image, or has pulled it. `hears`: nothing that it has read in this life was refused.
 */
export type AgentEvent = { readonly node: string; readonly hears: boolean } & (
  | { readonly type: "died" }
  | { readonly type: "refused" }
  | { readonly type: "pulling" | "pulled"; readonly reference: string }
);

export interface ObservedAgents {
  /** When files of the node's agent were last damaged, or could not be written: milliseconds after the beginning. */
  damagedAt(node: string): number;
  /** When the node's runtime was last in trouble: the same time. */
  troubledAt(node: string): number;
  subscribe(listener: (event: AgentEvent) => void): void;
}

interface SetTimes extends Times {
  /** When the clock was last set: milliseconds since the epoch, by the right one. */
  readonly setAt: number;
}

export interface ObservedCluster {
  /** Of what is looked at: that of the newest change. */
  readonly clock: Times & {
    /** Milliseconds after the beginning. */
    monotonic(): number;
  };
  readonly server: {
    readonly cluster: Pick<Cluster, "get" | "subscribe">;
    readonly faults: Pick<Faults, "onWrite">;
  };
  /** That live, each with its own idea of the time. */
  readonly replicas: readonly { readonly userAgent: string; readonly clock: SetTimes }[];
  /** When the last of those died whose clocks were wrong: milliseconds since the epoch. */
  readonly diedWrongAt: number;
  /** Where their disks and runtimes are looked at. */
  readonly agents?: ObservedAgents | undefined;
  objects(resource: string, namespace?: string): StoredObject[];
}
