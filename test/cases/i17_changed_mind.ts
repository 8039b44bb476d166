/** Another image while the node is still busy with the one before. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { cloneSet, container, imagePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { conditionOf, type Moment } from "./trail.ts";
import type { World } from "./world.ts";

/** How long after the spec of the first pod the mind changes: before the node acts, and while it does. */
const pauses = [0, 700];

export const suite: Suite = {
  number: "i17",
  title: "CloneSet: the image changes again before the update is done",
  needs: [],
  async run(world) {
    await world.step("1 apply", async () => {
      const strategy = { policy: "InPlaceIfPossible" as const };
      const containers = [container("web", "nginx:1.20")];
      await world.apply(cloneSet(world.version, { name: "mind", replicas: 2, strategy, containers }));
      await world.untilAll("mind", 2);
    });
    for (const pause of pauses) {
      await world.step(`2 back to the old image after ${pause} ms`, () =>
        change(world, ["nginx:1.21", "nginx:1.20"], pause),
      );
      await world.step(`3 on to a third image after ${pause} ms`, () =>
        change(world, ["nginx:1.21", "nginx:1.19"], pause),
      );
      await world.step("4 and back", () => change(world, ["nginx:1.20"], 0));
    }
  },
};

async function change(world: World, images: readonly string[], pause: number): Promise<void> {
  const uids = (await world.livePodsOf("mind")).map(({ metadata }) => metadata.uid);
  const trail = await world.trail("pods", "case=mind");
  for (const image of images) {
    await world.patch("mind", "json", imagePatch(image));
    if (image === images.at(-1)) break;
    await world.until(
      `a pod is asked for ${image}`,
      async () => {
        const asked = (await world.livePodsOf("mind")).map((pod) => pod.spec?.containers?.[0]?.image);
        assert.ok(asked.includes(image), asked.join());
      },
      { stableMs: 0 },
    );
    await sleep(world.simulated ? pause / 10 : pause);
  }
  await world.untilAllUpdated("mind", 2, images.at(-1) ?? "");
  checkGates(await trail.stop());
  const after = (await world.livePodsOf("mind")).map(({ metadata }) => metadata.uid);
  assert.deepEqual(after, uids, "in place");
}

/** A pod whose gate is on runs what its spec says: it is not about to be stopped. */
function checkGates(moments: readonly Moment[]): void {
  for (const { object } of moments) {
    const status = object.status?.containerStatuses?.[0];
    if (conditionOf(object, "InPlaceUpdateReady")?.status !== "True" || !status?.containerID) continue;
    const wanted = object.spec?.containers?.[0]?.image ?? "";
    const what = `${object.metadata.name} at ${object.metadata.resourceVersion} runs ${status.image}`;
    assert.equal(String(status.image).replace("docker.io/library/", ""), wanted, what);
  }
}
