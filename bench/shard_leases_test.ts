import t from "tap";
import { areShared, shardsByHolder } from "./shard_leases.ts";

const led = (...holders: readonly string[]): ReadonlyMap<number, string> =>
  new Map([...holders.entries()].filter(([, holder]) => holder !== ""));

t.test("shards are shared when all are led, by all replicas alike", async (t) => {
  t.ok(areShared(led("x"), 1, 1));
  t.ok(areShared(led("x", "y", "x", "y", "x"), 5, 2));
  t.ok(areShared(led("x", "y"), 2, 4), "more replicas than shards: some have none");
  t.notOk(areShared(led("x", "y", ""), 3, 2), "one is led by nobody");
  t.notOk(areShared(led("x", "x"), 2, 2), "one replica leads nothing");
  t.notOk(areShared(led("x", "x", "x", "y"), 4, 2), "one leads two more than the other");
});

t.test("shards by holder", async (t) => {
  t.same(shardsByHolder(led("x", "y", "", "x")), new Map(Object.entries({ x: [0, 3], y: [1] })));
});
