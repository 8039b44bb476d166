import assert from "node:assert/strict";
import { CloneSet } from "./clone_sets.ts";
import { assertSays, imageOf, restartsOf, uidOf } from "./items.ts";
import { cloneSet, container, imagePatch, replacePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

function mode(value: string): object[] {
  return replacePatch("/spec/template/spec/containers/0/env/0/value", value);
}

export const suite: Suite = {
  number: "09",
  title: "CloneSet: InPlaceOnly",
  needs: [],
  async run(world) {
    const only = new CloneSet(world, "only");
    let uids: string[] = [];
    const unchanged = async () => {
      const pods = await only.pods();
      assert.deepEqual(pods.map(uidOf), uids, "same pods");
      assert.deepEqual(pods.map(restartsOf), [1, 1]);
      return pods;
    };
    await world.step("1 apply", async () => {
      const pods = await only.start({
        replicas: 2,
        strategy: { policy: "InPlaceOnly", maxUnavailable: 1 },
        containers: [container("nginx", "nginx:1.20", { env: [{ name: "MODE", value: "first" }] })],
      });
      uids = pods.map(uidOf);
    });
    await world.step("2 image", async () => {
      await only.patch("json", imagePatch("nginx:1.21"), "v1alpha1");
      await world.until("updated", async () => {
        assert.deepEqual((await unchanged()).map(imageOf), ["nginx:1.21", "nginx:1.21"]);
        await only.assertAll(2);
      });
    });
    await world.step("3 environment is refused", () => refuseEnvironment(world, only));
    await world.step("4 label of the template", async () => {
      await only.mergeSpec({ template: { metadata: { labels: { extra: "1" } } } }, "v1alpha1");
      await world.until("labels arrived", async () => {
        const labels = (await unchanged()).map(({ metadata }) => metadata.labels?.["extra"]);
        assert.deepEqual(labels, ["1", "1"]);
        await only.assertAll(2);
      });
    });
    await world.step("5 environment through v1beta1", () => environmentThroughBeta(only, unchanged));
    await world.step("6 surge is refused", async () => {
      const manifest = cloneSet("v1alpha1", {
        name: "only-surge",
        replicas: 2,
        strategy: { policy: "InPlaceOnly", maxSurge: 1 },
      });
      const words = "can not use maxSurge with strategy type InPlaceOnly";
      await world.refuses(422, () => world.apply(manifest), words);
    });
  },
};

async function refuseEnvironment(world: World, only: CloneSet): Promise<void> {
  const { generation } = (await only.get()).metadata;
  const message = await world.refused(() => only.patch("json", mode("second"), "v1alpha1"), 422);
  assert.ok(message.startsWith('admission webhook "vcloneset.kb.io" denied the request:'), message);
  assertSays(
    message,
    "spec: Forbidden: only allowed to update images in spec for InPlaceOnly, but found",
    /but found replace \S*\/env\/0\/value/,
  );
  assert.equal((await only.get()).metadata.generation, generation);
}

/** Admission may refuse this through v1beta1 too; where it accepts, the refusal shows as a condition. */
async function environmentThroughBeta(only: CloneSet, unchanged: () => Promise<unknown>): Promise<void> {
  const { world } = only;
  const answer = await only.patch("json", mode("second"), "v1beta1").catch((error: unknown) => error);
  if (answer instanceof Error) {
    assert.match(answer.message, /only allowed to update images in spec for InPlaceOnly/);
    await unchanged();
    return;
  }
  await world.until("the condition says so", async () => {
    const condition = await only.condition("FailedUpdate");
    assert.equal(condition?.status, "True");
    const expected = /^find Pod only-\w{5} update strategy is InPlaceOnly but can not update in-place$/;
    assert.match(condition?.message ?? "", expected);
  });
  await world.stays(async () => {
    await unchanged();
    assert.equal((await only.status()).updatedReplicas ?? 0, 0);
  });
  await only.patch("json", mode("first"), "v1beta1");
  await world.until("back at the old content", async () => {
    await unchanged();
    await only.assertAll(2);
    assert.notEqual((await only.condition("FailedUpdate"))?.status, "True");
  });
}
