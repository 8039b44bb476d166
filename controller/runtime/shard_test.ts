import t from "tap";
import { seededRandom } from "../../kube/index.ts";
import { owns, shardOf, wholeCluster } from "./shard.ts";

function uids(count: number): string[] {
  const random = seededRandom(7);
  const hex = (digits: number) =>
    Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join("");
  return Array.from({ length: count }, () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`);
}

t.test("owners are spread evenly, each to one shard", async (t) => {
  for (const count of [2, 3, 8]) {
    const sizes = new Array<number>(count).fill(0);
    for (const uid of uids(6000)) {
      const index = shardOf(uid, count);
      sizes[index] = (sizes[index] ?? 0) + 1;
      const owners = sizes.filter((_size, at) => owns({ index: at, count }, uid)).length;
      if (owners !== 1 || !owns({ index, count }, uid)) t.fail(`${uid} has ${owners} owners`);
    }
    const fair = 6000 / count;
    t.ok(
      sizes.every((size) => Math.abs(size - fair) < fair * 0.15),
      `${count}: ${sizes.join()}`,
    );
  }
});

t.test("a shard more takes its part and moves nothing else", async (t) => {
  const all = uids(3000);
  const moved = all.filter((uid) => shardOf(uid, 4) !== shardOf(uid, 5));
  t.ok(moved.every((uid) => shardOf(uid, 5) === 4));
  t.ok(moved.length > 450 && moved.length < 750, `${moved.length} of 3000`);
});

t.test("one shard has everything", async (t) => {
  t.ok(uids(100).every((uid) => owns(wholeCluster, uid)));
});
