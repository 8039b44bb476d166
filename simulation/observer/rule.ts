/** What the observer asks after each write of a client. */
import type { StoredWrite } from "../../sandbox/index.ts";
import type { AgentPulls } from "./agents.ts";
import type { ObservedCluster } from "./observed.ts";
import type { Seen, SeenPod } from "./seen.ts";

export interface SeenWrite extends StoredWrite {
  readonly cluster: ObservedCluster;
  readonly seen: Seen;
  readonly agentPulls: Pick<AgentPulls, "isGivenUp">;
  /** That was written, where it was one; it is as it is after the write. */
  readonly pod: SeenPod | undefined;
  /** Milliseconds after the beginning. */
  readonly now: number;
  /** Since when all shards are led as they are; milliseconds after the beginning. */
  readonly ledSince: number;
  /** So much may have passed since the controllers heard of what is stored. */
  readonly staleMs: number;
  /** When somebody last made up a status; milliseconds after the beginning. */
  readonly madeUpAt: number;
}

/** What is wrong with the write, a sentence each. */
export type Rule = (write: SeenWrite) => string[];
