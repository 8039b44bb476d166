/** What the observer looks at: a simulated cluster, or the record of a real one. */
import type { Cluster, Faults, StoredObject } from "../../sandbox/index.ts";

interface Times {
  /** Milliseconds since the epoch. */
  now(): number;
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
  readonly replicas: readonly { readonly userAgent: string; readonly clock: Times }[];
  objects(resource: string, namespace?: string): StoredObject[];
}
