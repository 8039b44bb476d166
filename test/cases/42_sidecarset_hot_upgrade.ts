import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { assertSays, nameOf, onlyOf } from "./items.ts";
import { container } from "./manifests.ts";
import { readyOf, Sidecars } from "./sidecar_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const upgradeStrategy = { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: "busybox:1.35" };

const spec = {
  selector: { matchLabels: { case: "hot" } },
  updateStrategy: { type: "RollingUpdate", maxUnavailable: 1 },
  containers: [container("mesh", "busybox:1.32", { command: ["sleep", "999d"], upgradeStrategy })],
};

export const suite: Suite = {
  number: "42",
  title: "SidecarSet: hot upgrade",
  needs: [],
  async run(world) {
    const set = new Sidecars(world, "hot");
    await set.during(spec, () => run(world, set));
  },
};

async function run(world: World, set: Sidecars): Promise<void> {
  const clone = new CloneSet(world, "hot");
  let uid = "";
  const pod = async (): Promise<Item> => {
    return onlyOf(await clone.livePods());
  };
  const versions = { first: "", second: "" };
  await world.step("1 a pair, of which one container works", async () => {
    await clone.create({ containers: [container("app", "nginx:1.20")] });
    await set.untilRow("1 1 1");
    const injected = await pod();
    uid = injected.metadata.uid;
    assert.equal(readyOf(injected), "3/3");
    assert.deepEqual(
      injected.spec?.containers?.map(({ name }) => name),
      ["mesh-1", "mesh-2", "app"],
    );
    assert.equal(stateOf(injected), "busybox:1.32 busybox:1.35 mesh-1 1 0 0 1");
    for (const half of injected.spec?.containers?.slice(0, 2) ?? []) {
      const text = JSON.stringify(half);
      const path = (key: string) => `metadata.annotations['${key}.sidecarset.kruise.io/${half.name}']`;
      assertSays(text, '"SIDECARSET_VERSION"', path("version"));
      assertSays(text, '"SIDECARSET_VERSION_ALT"', path("versionalt"));
    }
  });
  await world.step("2 the idle container takes over", async () => {
    const states = await upgrade(world, set, "busybox:1.33");
    versions.first = (await pod()).metadata.annotations?.["version.sidecarset.kruise.io/mesh-2"] ?? "";
    assert.ok(Number(versions.first) > 1);
    assert.deepEqual(states, [
      "busybox:1.32 busybox:1.35 mesh-1 1 0 0 1",
      `busybox:1.32 busybox:1.33 mesh-2 1 ${versions.first} ${versions.first} 1`,
      `busybox:1.35 busybox:1.33 mesh-2 0 ${versions.first} ${versions.first} 0`,
    ]);
  });
  await world.step("3 and hands over again", async () => {
    const states = await upgrade(world, set, "busybox:1.34");
    const { first } = versions;
    const second = (await pod()).metadata.annotations?.["version.sidecarset.kruise.io/mesh-1"] ?? "";
    assert.ok(Number(second) > Number(first));
    assert.deepEqual(states, [
      `busybox:1.35 busybox:1.33 mesh-2 0 ${first} ${first} 0`,
      `busybox:1.34 busybox:1.33 mesh-1 ${second} ${first} ${first} ${second}`,
      `busybox:1.34 busybox:1.35 mesh-1 ${second} 0 0 ${second}`,
    ]);
    const after = await pod();
    assert.equal(after.metadata.uid, uid);
    const restarts = after.status?.containerStatuses?.map(
      ({ name, restartCount }) => `${name} ${restartCount}`,
    );
    assert.deepEqual(restarts?.sort(), ["app 0", "mesh-1 2", "mesh-2 2"]);
    await world.until("an event each time", async () => {
      const events = await world.events("Pod", nameOf(after), "ResetContainerSucceed");
      const times = events.reduce((sum, { count }) => sum + count, 0);
      assert.equal(times, 2);
      assert.equal(events[0]?.message, "reset sidecar container image empty successfully");
    });
  });
  await world.step("4 the type of the upgrade stays", async () => {
    const path = "/spec/containers/0/upgradeStrategy/upgradeType";
    await world.refuses(
      500,
      () => set.patch("json", [{ op: "replace", path, value: "ColdUpgrade" }]),
      "container mesh upgradeType is immutable",
    );
  });
}

/** The states of the pair, each once; the counts of the set on the way. */
async function upgrade(world: World, set: Sidecars, image: string): Promise<string[]> {
  const trail = await world.trail("pods", "case=hot");
  const rows = await world.trail(set.resource);
  await set.toImage(image);
  await set.untilRow("1 1 1");
  const counted = (await rows.stop()).filter(({ object }) => object.metadata.name === set.name);
  assert.ok(
    counted.some(({ object: { status } }) => status?.["updatedPods"] === 1 && status["readyPods"] === 0),
    "it counts as updated and not ready while both are at work",
  );
  const states = (await trail.stop()).map(({ object }) => stateOf(object));
  return states.filter((state, index) => state !== states[index - 1]);
}

function stateOf({ metadata, spec }: Item): string {
  const { annotations = {} } = metadata;
  const images = ["mesh-1", "mesh-2"].map(
    (name) => spec?.containers?.find((one) => one.name === name)?.image,
  );
  const working = JSON.parse(annotations["kruise.io/sidecarset-working-hotupgrade-container"] ?? "{}").mesh;
  const versions = ["mesh-1", "mesh-2"].flatMap((name) => [
    annotations[`version.sidecarset.kruise.io/${name}`],
    annotations[`versionalt.sidecarset.kruise.io/${name}`],
  ]);
  return [...images, working, ...versions].join(" ");
}
