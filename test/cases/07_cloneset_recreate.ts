import assert from "node:assert/strict";
import { CloneSet } from "./clone_sets.ts";
import { assertAllNew, imageOf, isGoing, nameOf, phaseOf, restartsOf } from "./items.ts";
import { claimTemplate, container, volumes } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { Moment } from "./trail.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "07",
  title: "CloneSet: ReCreate, the default way to update",
  needs: [],
  async run(world) {
    const storage = `recreate-${world.namespace}`;
    const recreate = new CloneSet(world, "recreate");
    await world.step("1 apply", async () => {
      await world.applyVolumes(volumes(storage, storage, 6));
      const volumeMounts = [{ name: "www", mountPath: "/usr/share/nginx/html" }];
      const pods = await recreate.start({
        replicas: 3,
        containers: [container("nginx", "nginx:1.20", { volumeMounts })],
        more: { volumeClaimTemplates: [claimTemplate("www", storage)] },
      });
      const claims = await world.claims();
      assert.deepEqual(claims.map(nameOf).sort(), pods.map((pod) => `www-${nameOf(pod)}`).sort());
      assert.deepEqual(claims.map(phaseOf), ["Bound", "Bound", "Bound"]);
    });
    await world.step("2 defaults", async () => {
      const alpha = await recreate.get("v1alpha1");
      assert.equal(alpha.spec?.updateStrategy?.["type"], "ReCreate");
      assert.equal(alpha.spec?.updateStrategy?.["maxUnavailable"], "20%");
    });
    await replaceAll(world, recreate);
  },
};

async function replaceAll(world: World, recreate: CloneSet): Promise<void> {
  const before = await recreate.livePods();
  const claimsBefore = await world.claims();
  const trail = await recreate.trail();
  await world.step("3 replace pod and claim, one at a time", async () => {
    await recreate.toImage("nginx:1.21");
    await world.until("all replaced", async () => {
      await recreate.assertAll(3);
      const { currentRevision, updateRevision } = await recreate.status();
      assert.equal(currentRevision, updateRevision);
      assertAllNew(await recreate.pods(), before);
      const claims = await world.claims();
      assert.equal(claims.length, 3, claims.map(nameOf).join());
      assertNoNameOf(claims.map(nameOf), claimsBefore.map(nameOf));
    });
    const pods = await recreate.pods();
    assertNoNameOf(pods.map(nameOf), before.map(nameOf));
    for (const pod of pods) {
      assert.equal(imageOf(pod), "nginx:1.21");
      assert.equal(restartsOf(pod), 0);
    }
    const moments = await trail.neverBelow(2);
    for (const pod of before) assertMarkedBeforeDeletion(moments, nameOf(pod));
  });
  await world.step("4 events", async () => {
    await world.until("events of each replacement", async () => {
      const revision = (await recreate.status()).updateRevision;
      const messages = (await recreate.events()).map(({ reason, message }) => `${reason}: ${message}`);
      for (const name of before.map(nameOf)) {
        const marked = `successfully patch pod ${name} specified-delete for update(revision ${revision})`;
        assert.ok(messages.includes(`SuccessfulUpdatePodReCreate: ${marked}`), messages.join("\n"));
        assert.ok(messages.includes(`SuccessfulDelete: succeed to delete pod ${name}`));
      }
      assert.equal(messages.filter((text) => text.startsWith("SuccessfulCreate:")).length, 6);
      assert.equal(messages.filter((text) => text.startsWith("SuccessfulUpdatePodInPlace")).length, 0);
    });
  });
}

function assertNoNameOf(names: readonly string[], before: readonly string[]): void {
  assert.deepEqual(
    names.filter((name) => before.includes(name)),
    [],
  );
}

function assertMarkedBeforeDeletion(moments: readonly Moment[], name: string): void {
  const own = moments.filter(({ object }) => nameOf(object) === name);
  const marked = own.findIndex(
    ({ object }) => object.metadata.labels?.["apps.kruise.io/specified-delete"] === "true",
  );
  const deleted = own.findIndex(({ type, object }) => type === "DELETED" || isGoing(object));
  assert.ok(marked >= 0 && marked < deleted, `${name}: marked at ${marked}, deleted at ${deleted}`);
}
