/** Another image while the node is still busy with the one before. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { CloneSet } from "./clone_sets.ts";
import { conditionOf, imageOf, uidOf } from "./items.ts";
import { container } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { Moment } from "./trail.ts";

/** How long after the spec of the first pod the mind changes: before the node acts, and while it does. */
const pauses = [0, 700];

export const suite: Suite = {
  number: "i17",
  title: "CloneSet: the image changes again before the update is done",
  needs: [],
  async run(world) {
    const mind = new CloneSet(world, "mind");
    await world.step("1 apply", async () => {
      const strategy = { policy: "InPlaceIfPossible" } as const;
      await mind.start({ replicas: 2, strategy, containers: [container("web", "nginx:1.20")] });
    });
    for (const pause of pauses) {
      await world.step(`2 back to the old image after ${pause} ms`, () =>
        change(mind, ["nginx:1.21", "nginx:1.20"], pause),
      );
      await world.step(`3 on to a third image after ${pause} ms`, () =>
        change(mind, ["nginx:1.21", "nginx:1.19"], pause),
      );
      await world.step("4 and back", () => change(mind, ["nginx:1.20"], 0));
    }
  },
};

async function change(mind: CloneSet, images: readonly string[], pause: number): Promise<void> {
  const { world } = mind;
  const uids = (await mind.livePods()).map(uidOf);
  const trail = await mind.trail();
  for (const image of images) {
    await mind.toImage(image);
    if (image === images.at(-1)) break;
    await world.once(`a pod is asked for ${image}`, async () => {
      const asked = (await mind.livePods()).map(imageOf);
      assert.ok(asked.includes(image), asked.join());
    });
    await sleep(world.simulated ? pause / 10 : pause);
  }
  await mind.untilUpdated(2, images.at(-1) ?? "");
  checkGates(await trail.stop());
  assert.deepEqual((await mind.livePods()).map(uidOf), uids, "in place");
}

/** A pod whose gate is on runs what its spec says: it is not about to be stopped. */
function checkGates(moments: readonly Moment[]): void {
  for (const { object } of moments) {
    const status = object.status?.containerStatuses?.[0];
    if (conditionOf(object, "InPlaceUpdateReady")?.status !== "True" || !status?.containerID) continue;
    const wanted = imageOf(object) ?? "";
    const what = `${object.metadata.name} at ${object.metadata.resourceVersion} runs ${status.image}`;
    assert.equal(String(status.image).replace("docker.io/library/", ""), wanted, what);
  }
}
