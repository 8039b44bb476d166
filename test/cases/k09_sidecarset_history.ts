import assert from "node:assert/strict";
import { podOf, sleeper } from "./manifests.ts";
import { Sidecars } from "./sidecar_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const labels = { case: "history" };
const key = "refit.dev/tried";

/** Scenarios of the reference, by their numbers there. */
export const suite: Suite = {
  number: "k09",
  title: "SidecarSet: the history of revisions, annotations of pods",
  needs: [],
  gates: "SidecarSetPatchPodMetadataDefaultsAllowed=true",
  async run(world) {
    await world.step("14 ten revisions are kept, an old one that is back gets the next number", () =>
      history(world),
    );
    await world.step("20 annotations of pods change with their next image", () => annotations(world));
  },
};

async function history(world: World): Promise<void> {
  const set = new Sidecars(world, "history");
  const secrets = (number: number) => [{ name: `secret-${number}` }];
  const spec = {
    selector: { matchLabels: labels },
    containers: [sleeper("side", "busybox:1.32")],
    imagePullSecrets: secrets(1),
  };
  const untilNumbers = (expected: readonly number[]) =>
    world.until(`the revisions ${expected}`, async () => {
      assert.deepEqual(
        (await set.revisions()).map(({ revision }) => revision),
        expected,
      );
    });
  const range = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, index) => first + index);
  await set.during(spec, async () => {
    await untilNumbers([1]);
    for (let number = 2; number <= 15; number++) {
      const { metadata } = await set.patch("merge", { spec: { imagePullSecrets: secrets(number) } });
      await world.once(`generation ${metadata.generation} is observed`, async () =>
        assert.equal((await set.get()).status?.["observedGeneration"], metadata.generation),
      );
    }
    await untilNumbers(range(6, 15));
    const twelfth = (await set.revisions()).find(({ revision }) => revision === 12);
    await set.patch("merge", { spec: { imagePullSecrets: secrets(12) } });
    await untilNumbers([...range(6, 11), ...range(13, 16)]);
    assert.equal((await set.revisions()).at(-1)?.metadata.name, twelfth?.metadata.name);
  });
}

async function annotations(world: World): Promise<void> {
  const set = new Sidecars(world, "annotations");
  const labels = { case: "annotations" };
  const patchOf = (value: number) => [
    { patchPolicy: "MergePatchJson", annotations: { [key]: JSON.stringify({ side: value }) } },
  ];
  const spec = {
    selector: { matchLabels: labels },
    containers: [sleeper("side", "busybox:1.32")],
    patchPodMetadata: patchOf(1),
  };
  const stored = async () => {
    const { metadata } = await world.pod("annotated");
    return JSON.parse(metadata.annotations?.[key] ?? "null");
  };
  await set.during(spec, async () => {
    await world.apply(podOf("annotated", { labels, annotations: { [key]: '{"app":7}' } }));
    await set.untilRow("1 1 1");
    assert.deepEqual(await stored(), { app: 7, side: 1 });
    await set.patch("merge", { spec: { patchPodMetadata: patchOf(2) } });
    await world.stays(async () => assert.deepEqual(await stored(), { app: 7, side: 1 }), 5_000);
    await set.toImage("busybox:1.33");
    await set.untilRow("1 1 1");
    assert.deepEqual(await stored(), { app: 7, side: 2 });
  });
}
