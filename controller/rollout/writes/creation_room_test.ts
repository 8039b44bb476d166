import fc from "fast-check";
import t from "tap";
import { creationRoom, mostCreations } from "./creation_room.ts";

t.test("creations under way are bounded, however many workloads there are, and each of them goes on", (t) => {
  fc.assert(
    fc.property(fc.nat(2 * mostCreations), fc.nat(2 * mostCreations), (own, others) => {
      const ofAll = own + others;
      const room = creationRoom(ofAll, own > 0);
      t.ok(room >= 0 && (own > 0 || room > 0));
      if (room > 1) t.ok(ofAll + room === mostCreations, "up to the bound");
      if (ofAll <= mostCreations / 2) t.ok(room > 1, "there is always something to send");
    }),
  );
  t.end();
});

t.test("two thousand workloads of fifty pods wait with few manifests, and all pods are created", (t) => {
  const lines = Array.from({ length: 2_000 }, () => ({ missing: 50, underWay: 0 }));
  let ofAll = 0;
  let most = 0;
  for (let left = 100_000; left > 0; ) {
    for (const line of lines) {
      const decided = Math.min(line.missing, creationRoom(ofAll, line.underWay > 0));
      line.missing -= decided;
      line.underWay += decided;
      ofAll += decided;
    }
    most = Math.max(most, ofAll);
    for (const line of lines) {
      const created = Math.min(1, line.underWay);
      line.underWay -= created;
      ofAll -= created;
      left -= created;
    }
  }
  t.ok(most <= mostCreations + lines.length, `${most} at a time`);
  t.equal(ofAll, 0);
  t.end();
});
