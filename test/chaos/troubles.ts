/** What goes wrong on a real cluster, each with what ends it. */
import type { TestCluster } from "../cluster/cluster.ts";
import type { Replicas } from "./replicas.ts";

export interface Stage {
  readonly cluster: TestCluster;
  readonly replicas: Replicas;
}

export interface Trouble {
  readonly number: string;
  readonly title: string;
  /** How long it lasts. */
  readonly forMs: number;
  /** So late controllers may be because of it. */
  readonly staleMs: number;
  /** Begins it; the result ends it. */
  begin(stage: Stage): Promise<() => Promise<void>>;
}

const killed: Trouble = {
  number: "kill",
  title: "the leader is killed, and comes back when another one leads",
  forMs: 25_000,
  staleMs: 0,
  async begin({ replicas }) {
    const leader = await replicas.leader();
    await replicas.kill(leader);
    return () => replicas.revive(leader);
  },
};

export const troubles: readonly Trouble[] = [killed];
