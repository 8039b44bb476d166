import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { cloneSet, imagePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { isReady, type Moment } from "./trail.ts";

const graceKey = "apps.kruise.io/inplace-update-grace";

export const suite: Suite = {
  number: "i08",
  title: "In place: grace period between not ready and the change",
  needs: [],
  async run(world) {
    const seconds = world.seconds(10, 2);
    await world.step("not ready first, the image after the grace period", async () => {
      await world.apply(
        cloneSet(world.version, {
          name: "graceful",
          replicas: 2,
          strategy: {
            policy: "InPlaceIfPossible",
            maxUnavailable: 1,
            inPlaceUpdateStrategy: { gracePeriodSeconds: seconds },
          },
        }),
      );
      const before = await world.untilAll("graceful", 2);
      const trail = await world.trail("pods", "case=graceful");
      await world.patch("graceful", "json", imagePatch("nginx:1.21"));
      await world.untilAllUpdated("graceful", 2, "nginx:1.21");
      const moments = await trail.stop();
      for (const pod of before) checkPod(moments, pod, seconds);
    });
  },
};

function checkPod(moments: readonly Moment[], pod: Item, seconds: number): void {
  const own = moments.filter(({ object }) => object.metadata.uid === pod.metadata.uid);
  const waiting = own.find(({ object }) => object.metadata.annotations?.[graceKey] !== undefined);
  const changed = own.find(({ object }) => object.spec?.containers?.[0]?.image === "nginx:1.21");
  assert.ok(waiting && changed, "both moments were seen");
  assert.equal(isReady(waiting.object), false);
  assert.equal(waiting.object.spec?.containers?.[0]?.image, "nginx:1.20");
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
