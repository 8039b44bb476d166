import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { cloneSet } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const alpha = "clonesets.v1alpha1.apps.kruise.io";

export const suite: Suite = {
  number: "11",
  title: "CloneSet: choosing which pods go",
  needs: [],
  async run(world) {
    await world.step("1 apply", async () => {
      await world.apply(cloneSet(world.version, { name: "pick", replicas: 5 }));
      await world.untilAll("pick", 5);
      await world.until("an event a pod", async () => {
        assert.equal((await world.events("CloneSet", "pick", "SuccessfulCreate")).length, 5);
      });
    });
    await world.step("2 named pods go", () => namedPods(world));
    await world.step("3 a labelled pod is replaced", () => labelledPod(world));
    await world.step("4 bad names are refused", () => badNames(world));
    await world.step("5 deletion cost", () => deletionCost(world));
    await world.step("6 scaledown", () => scaleDown(world));
  },
};

function names(pods: readonly Item[]): string[] {
  return pods.map((pod) => pod.metadata.name);
}

async function namedPods(world: World): Promise<void> {
  const before = await world.livePodsOf("pick");
  const [a = "", b = ""] = names(before);
  const patch = { spec: { replicas: 3, scaleStrategy: { podsToDelete: [a, b] } } };
  await world.patch("pick", "merge", patch, alpha);
  await world.until("exactly the named pods are gone", async () => {
    const pods = await world.podsOf("pick");
    assert.deepEqual(
      pods.map((pod) => pod.metadata.uid),
      before.slice(2).map((pod) => pod.metadata.uid),
    );
    assert.equal(await world.row("pick"), "pick 3 3 3 3 3 3");
    const listed = (await world.get("pick")).spec?.scaleStrategy?.["podsToDelete"] ?? [];
    assert.deepEqual(listed, []);
    const deleted = (await world.events("CloneSet", "pick", "SuccessfulDelete")).map(
      ({ message }) => message,
    );
    assert.deepEqual(deleted.sort(), [`succeed to delete pod ${a}`, `succeed to delete pod ${b}`]);
    assert.equal((await world.events("CloneSet", "pick", "SuccessfulCreate")).length, 5);
  });
}

async function labelledPod(world: World): Promise<void> {
  const before = await world.livePodsOf("pick");
  const [c = ""] = names(before);
  const labels = { metadata: { labels: { "apps.kruise.io/specified-delete": "true" } } };
  await world.patch(c, "merge", labels, "pods");
  await world.until("one other pod", async () => {
    const pods = await world.podsOf("pick");
    assert.equal(pods.length, 3);
    assert.ok(!names(pods).includes(c));
    for (const kept of before.slice(1)) {
      assert.ok(pods.some((pod) => pod.metadata.uid === kept.metadata.uid));
    }
    assert.equal(await world.row("pick"), "pick 3 3 3 3 3 3");
  });
}

async function badNames(world: World): Promise<void> {
  const send = (podsToDelete: string[]) => () =>
    world.patch("pick", "merge", { spec: { scaleStrategy: { podsToDelete } } }, alpha);
  const [existing = ""] = names(await world.livePodsOf("pick"));
  const unknown = await world.refused(send(["no-such-pod"]), 422);
  assert.ok(unknown.includes('find pod no-such-pod failed: Pod "no-such-pod" not found'), unknown);
  const twice = await world.refused(send([existing, existing]), 422);
  assert.ok(twice.includes(`duplicated items [${existing}]`), twice);
}

async function deletionCost(world: World): Promise<void> {
  await world.scale("pick", 5);
  const before = await world.untilAll("pick", 5);
  const cheap = names(before).slice(1, 3);
  for (const name of cheap) {
    const annotations = {
      metadata: { annotations: { "controller.kubernetes.io/pod-deletion-cost": "-10" } },
    };
    await world.patch(name, "merge", annotations, "pods");
  }
  await world.stays(async () => assert.equal((await world.podsOf("pick")).length, 5), 3_000);
  await world.scale("pick", 3);
  await world.untilAll("pick", 3);
  await gone(world, cheap, 3);
}

async function gone(world: World, victims: readonly string[], left: number): Promise<void> {
  await world.until(`${victims} are gone`, async () => {
    const now = names(await world.podsOf("pick"));
    assert.equal(now.length, left);
    assert.ok(
      victims.every((name) => !now.includes(name)),
      now.join(),
    );
  });
}

async function scaleDown(world: World): Promise<void> {
  await world.scale("pick", 5);
  const [x = "", , y = ""] = names(await world.untilAll("pick", 5));
  const { code, stdout, stderr } = await world.refit("scaledown", "clone/pick", "--pods", `${x},${y}`);
  assert.equal(code, 0, stderr);
  assert.deepEqual(stdout.trim().split("\n"), [
    `# pick delete pods [${x} ${y}] successfully`,
    "cloneset.apps.kruise.io/pick selective pod deletion",
  ]);
  await gone(world, [x, y], 3);
  assert.equal((await world.get("pick")).spec?.replicas, 3);
}
