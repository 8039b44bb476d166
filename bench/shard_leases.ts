/** Who leads which shard, as the leases say. */
import { type Client, listAll, shardLeaseName } from "../kube/index.ts";
import { leases } from "./resources.ts";

const namespace = "kruise-system";
const name = "kruise-manager";

/** Identity of the holder by shard; those without one are left out. */
export async function holdersOf(client: Client, shards: number): Promise<ReadonlyMap<number, string>> {
  const held = await listAll(client, leases, { namespace });
  const holders = new Map<number, string>();
  for (let shard = 0; shard < shards; shard++) {
    const wanted = shardLeaseName(name, shard, shards);
    const holder = held.find(({ metadata }) => metadata.name === wanted)?.spec?.holderIdentity;
    if (holder) holders.set(shard, holder);
  }
  return holders;
}

/** Shards by the holder's identity. */
export function shardsByHolder(holders: ReadonlyMap<number, string>): ReadonlyMap<string, readonly number[]> {
  const shards = new Map<string, number[]>();
  for (const [shard, holder] of holders) shards.set(holder, [...(shards.get(holder) ?? []), shard]);
  return shards;
}

/** All shards are led, by all replicas, and none leads two more than another. */
export function areShared(holders: ReadonlyMap<number, string>, shards: number, replicas: number): boolean {
  if (holders.size < shards) return false;
  const counts = [...shardsByHolder(holders).values()].map(({ length }) => length);
  return counts.length === Math.min(replicas, shards) && Math.max(...counts) - Math.min(...counts) < 2;
}
