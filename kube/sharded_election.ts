/**
 * Several leases shared fairly among replicas: each shard is led by one of them, and no replica leads two more than
 * another for long. A replica that has too few asks the one that has most for one of its leases.
 */
import type { Clock } from "./clock.ts";
import { type Election, type ElectionOptions, type Lease, startElection, WANTED_BY } from "./lease.ts";

export interface ShardedElectionOptions
  extends Omit<ElectionOptions, "name" | "wants" | "yields" | "onStarted" | "onLost"> {
  /** Of the lease of a single shard; several have leases `<name>-<shard>`. */
  name: string;
  /** How many; shards are numbered from 0. */
  shards: number;
  /** The signal aborts when the shard is lost. Not awaited. */
  onStarted(shard: number, leading: AbortSignal): void;
  /** A shard that goes to another replica does so when the promise has resolved. `leftMs`: as in ElectionOptions. */
  onLost(shard: number, leftMs: number): Promise<void>;
}

export interface ShardedElection {
  /** Shards that this replica leads. */
  readonly held: readonly number[];
  /** Gives back all that is held. */
  stop(): Promise<void>;
}

const DEFAULT_RETRY_PERIOD_MS = 2_000;
const DEFAULT_DURATION_MS = 15_000;

export function startShardedElection(options: ShardedElectionOptions): ShardedElection {
  const { shards, identity, clock } = options;
  const periodMs = options.retryPeriodMs ?? DEFAULT_RETRY_PERIOD_MS;
  const durationMs = options.leaseDurationMs ?? DEFAULT_DURATION_MS;
  const elections: Election[] = [];
  const first = firstChoice(identity, shards);
  const held = (): number[] => elections.flatMap((election, shard) => (election.isLeader ? [shard] : []));
  for (let shard = 0; shard < shards; shard++) {
    elections.push(
      startElection({
        ...options,
        name: shardLeaseName(options.name, shard, shards),
        wants: (freeForMs, lease) => {
          const asker = askerOf(lease);
          if (asker === identity) return true;
          // Given up for another, who may have died since.
          if (asker !== undefined) return freeForMs >= durationMs;
          // Replicas that start together begin at different shards and leave each other time for the rest.
          return freeForMs >= 2 * periodMs * Math.max(held().length, (shard - first + shards) % shards);
        },
        yields: (lease) => {
          const asker = askerOf(lease);
          return asker !== undefined && asker !== identity && held().length > 1;
        },
        onStarted: (leading) => options.onStarted(shard, leading),
        onLost: (leftMs) => options.onLost(shard, leftMs),
      }),
    );
  }
  const asking = repeat(clock, periodMs * 2, async () => {
    const wanted = shardToAskFor(elections, identity);
    await wanted?.ask().catch((error: unknown) => options.log.debug("a shard was not asked for", { error }));
  });
  return {
    get held() {
      return held();
    },
    async stop() {
      asking.end();
      await Promise.all(elections.map((election) => election.stop()));
    },
  };
}

/** Of the lease of one of so many shards. */
export function shardLeaseName(name: string, shard: number, shards: number): string {
  return shards === 1 ? name : `${name}-${shard}`;
}

/** Spreads replicas over the shards by their identity. */
function firstChoice(identity: string, shards: number): number {
  let sum = 0;
  for (const character of identity) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return sum % shards;
}

/** One of the leases of whoever has most, if that is two more than this replica has; undefined when none is due. */
function shardToAskFor(elections: readonly Election[], identity: string): Election | undefined {
  const byHolder = new Map<string, Election[]>();
  for (const election of elections) {
    // What was asked for is on its way: asking for more meanwhile would only turn the imbalance round.
    const holder = askerOf(election.lease) === identity ? identity : election.holder;
    if (holder !== "") byHolder.set(holder, [...(byHolder.get(holder) ?? []), election]);
  }
  const own = byHolder.get(identity)?.length ?? 0;
  let most: Election[] = [];
  for (const [holder, theirs] of byHolder) {
    if (holder !== identity && theirs.length > most.length) most = theirs;
  }
  if (most.length < own + 2) return undefined;
  return most.find((election) => askerOf(election.lease) === undefined);
}

function askerOf(lease: Lease | undefined): string | undefined {
  return lease?.metadata.annotations?.[WANTED_BY];
}

function repeat(clock: Clock, everyMs: number, run: () => Promise<void>): { end(): void } {
  let timer = clock.after(everyMs, next);
  function next(): void {
    void run();
    timer = clock.after(everyMs, next);
  }
  return { end: () => timer.cancel() };
}
