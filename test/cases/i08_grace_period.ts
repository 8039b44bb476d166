import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { imageOf, uidOf } from "./items.ts";
import type { Suite } from "./suite.ts";
import { isReady, type Moment } from "./trail.ts";

const graceKey = "apps.kruise.io/inplace-update-grace";

export const suite: Suite = {
  number: "i08",
  title: "In place: grace period between not ready and the change",
  needs: [],
  async run(world) {
    const graceful = new CloneSet(world, "graceful");
    const seconds = world.seconds(10, 2);
    await world.step("not ready first, the image after the grace period", async () => {
      const before = await graceful.start({
        replicas: 2,
        strategy: {
          policy: "InPlaceIfPossible",
          maxUnavailable: 1,
          inPlaceUpdateStrategy: { gracePeriodSeconds: seconds },
        },
      });
      const trail = await graceful.trail();
      await graceful.toImage("nginx:1.21");
      await graceful.untilUpdated(2, "nginx:1.21");
      const moments = await trail.stop();
      for (const pod of before) checkPod(moments, pod, seconds);
    });
  },
};

function checkPod(moments: readonly Moment[], pod: Item, seconds: number): void {
  const own = moments.filter(({ object }) => uidOf(object) === uidOf(pod));
  const waiting = own.find(({ object }) => object.metadata.annotations?.[graceKey] !== undefined);
  const changed = own.find(({ object }) => imageOf(object) === "nginx:1.21");
  assert.ok(waiting && changed, "both moments were seen");
  assert.equal(isReady(waiting.object), false);
  assert.equal(imageOf(waiting.object), "nginx:1.20");
  const grace: { graceSeconds?: number } = JSON.parse(
    waiting.object.metadata.annotations?.[graceKey] ?? "{}",
  );
  assert.equal(grace.graceSeconds, seconds);
  const state: { updateTimestamp: string; containerBatchesRecord: { timestamp: string }[] } = JSON.parse(
    changed.object.metadata.annotations?.["apps.kruise.io/inplace-update-state"] ?? "{}",
  );
  const waited =
    Date.parse(state.containerBatchesRecord[0]?.timestamp ?? "") - Date.parse(state.updateTimestamp);
  assert.ok(waited >= seconds * 1000, `changed after ${waited} ms`);
  assert.equal(changed.object.metadata.annotations?.[graceKey], undefined);
}
