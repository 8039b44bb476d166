/** Which replica reconciles what: owners are spread over shards by UID, each shard is led by one replica at a time. */

export interface Shard {
  /** From 0; shard 0 also does what has no owner of its own to be spread by. */
  readonly index: number;
  readonly count: number;
}

export const wholeCluster: Shard = { index: 0, count: 1 };

/**
 * The shard with the highest weight for the UID (rendezvous hashing): with one shard more, only the owners that it
 * gets move.
 */
export function shardOf(uid: string, count: number): number {
  let best = 0;
  let highest = -1;
  const seed = fnv1a(0x811c9dc5, uid);
  for (let index = 0; index < count; index++) {
    const weight = mixed(seed ^ Math.imul(index + 1, 0x9e3779b1));
    if (weight > highest) {
      highest = weight;
      best = index;
    }
  }
  return best;
}

export function owns(shard: Shard, uid: string): boolean {
  return shard.count === 1 || shardOf(uid, shard.count) === shard.index;
}

/** FNV-1a over UTF-16 units. */
function fnv1a(basis: number, text: string): number {
  let hash = basis;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** Every bit of the input moves every bit of the result (the finalizer of MurmurHash3). */
function mixed(value: number): number {
  let hash = value >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
