import assert from "node:assert/strict";
import { claimTemplate, cloneSet, container, imagePatch, volumes } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { extremesOf, type Moment } from "./trail.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "07",
  title: "CloneSet: ReCreate, the default way to update",
  needs: [],
  async run(world) {
    const storage = `recreate-${world.namespace}`;
    await world.step("1 apply", async () => {
      await world.applyVolumes(volumes(storage, storage, 6));
      await world.apply(
        cloneSet(world.version, {
          name: "recreate",
          replicas: 3,
          containers: [
            container("nginx", "nginx:1.20", {
              volumeMounts: [{ name: "www", mountPath: "/usr/share/nginx/html" }],
            }),
          ],
          more: { volumeClaimTemplates: [claimTemplate("www", storage)] },
        }),
      );
      await world.untilAll("recreate", 3);
      const claims = await world.list("persistentvolumeclaims");
      const pods = await world.livePodsOf("recreate");
      assert.deepEqual(
        claims.map((claim) => claim.metadata.name).sort(),
        pods.map((pod) => `www-${pod.metadata.name}`).sort(),
      );
      assert.deepEqual(
        claims.map((claim) => claim.status?.phase),
        ["Bound", "Bound", "Bound"],
      );
    });
    await world.step("2 defaults", async () => {
      const alpha = await world.api.get("clonesets.v1alpha1.apps.kruise.io", "recreate", world.namespace);
      assert.equal(alpha.spec?.updateStrategy?.["type"], "ReCreate");
      assert.equal(alpha.spec?.updateStrategy?.["maxUnavailable"], "20%");
    });
    await replaceAll(world);
  },
};

async function replaceAll(world: World): Promise<void> {
  const before = await world.livePodsOf("recreate");
  const claimsBefore = (await world.list("persistentvolumeclaims")).map((claim) => claim.metadata.name);
  const trail = await world.trail("pods", "case=recreate");
  await world.step("3 replace pod and claim, one at a time", async () => {
    await world.patch("recreate", "json", imagePatch("nginx:1.21"));
    await world.until("all replaced", async () => {
      assert.equal(await world.row("recreate"), "recreate 3 3 3 3 3 3");
      const { status } = await world.get("recreate");
      assert.equal(status?.currentRevision, status?.updateRevision);
      const pods = await world.podsOf("recreate");
      assert.ok(pods.every((pod) => !before.some((old) => old.metadata.uid === pod.metadata.uid)));
      const claims = (await world.list("persistentvolumeclaims")).map((claim) => claim.metadata.name);
      assert.ok(claims.length === 3 && claims.every((name) => !claimsBefore.includes(name)), claims.join());
    });
    const pods = await world.podsOf("recreate");
    for (const pod of pods) {
      assert.equal(pod.spec?.containers?.[0]?.image, "nginx:1.21");
      assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 0);
      assert.ok(!before.some((old) => old.metadata.name === pod.metadata.name));
    }
    const moments = await trail.stop();
    const { leastAvailable, worst } = extremesOf(moments);
    assert.ok(leastAvailable >= 2, `available fell to ${leastAvailable}: ${worst}`);
    for (const pod of before) assertMarkedBeforeDeletion(moments, pod.metadata.name);
  });
  await world.step("4 events", async () => {
    await world.until("events of each replacement", async () => {
      const revision = (await world.get("recreate")).status?.updateRevision;
      const messages = (await world.events("CloneSet", "recreate")).map(
        ({ reason, message }) => `${reason}: ${message}`,
      );
      for (const { metadata } of before) {
        const marked = `successfully patch pod ${metadata.name} specified-delete for update(revision ${revision})`;
        assert.ok(messages.includes(`SuccessfulUpdatePodReCreate: ${marked}`), messages.join("\n"));
        assert.ok(messages.includes(`SuccessfulDelete: succeed to delete pod ${metadata.name}`));
      }
      assert.equal(messages.filter((text) => text.startsWith("SuccessfulCreate:")).length, 6);
      assert.equal(messages.filter((text) => text.startsWith("SuccessfulUpdatePodInPlace")).length, 0);
    });
  });
}

function assertMarkedBeforeDeletion(moments: readonly Moment[], name: string): void {
  const own = moments.filter(({ object }) => object.metadata.name === name);
  const marked = own.findIndex(
    ({ object }) => object.metadata.labels?.["apps.kruise.io/specified-delete"] === "true",
  );
  const deleted = own.findIndex(
    ({ type, object }) => type === "DELETED" || object.metadata.deletionTimestamp !== undefined,
  );
  assert.ok(marked >= 0 && marked < deleted, `${name}: marked at ${marked}, deleted at ${deleted}`);
}
