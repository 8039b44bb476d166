import assert from "node:assert/strict";
import { CloneSet } from "./clone_sets.ts";
import { assertAllNew, nameOf, uidOf } from "./items.ts";
import { claimTemplate, container, volumes } from "./manifests.ts";
import type { Suite } from "./suite.ts";

const volumeNames = ["logs", "data"];

export const suite: Suite = {
  number: "c07",
  title: "CloneSet: claims of vanished pods, kept and not kept",
  needs: [],
  async run(world) {
    const storage = `reuse-${world.namespace}`;
    await world.applyVolumes(volumes(storage, storage, 24));
    await world.step("reuse on", async () => {
      const kept = new CloneSet(world, "kept");
      const { before, claims } = await deleteAll(kept, storage, true);
      await world.until("old names and claims, other pods", async () => {
        const pods = await kept.pods();
        assert.deepEqual(pods.map(nameOf), before.map(nameOf));
        assertAllNew(pods, before);
        assert.deepEqual(await claimsOf(kept), claims);
        await kept.assertAll(4);
      });
    });
    await world.step("reuse off", async () => {
      const dropped = new CloneSet(world, "dropped");
      const { before, claims } = await deleteAll(dropped, storage, false);
      await world.until("new names and claims", async () => {
        const pods = await dropped.pods();
        assert.equal(pods.length, 4);
        assert.ok(pods.every((pod) => !before.map(nameOf).includes(nameOf(pod))));
        const now = await claimsOf(dropped);
        assert.equal(now.length, 8);
        assert.ok(now.every((claim) => !claims.includes(claim)));
        await dropped.assertAll(4);
      });
    });
  },
};

/** Pods with two claims each, and then without the pods; returns what there was. */
async function deleteAll(clone: CloneSet, storage: string, reuse: boolean) {
  const volumeMounts = volumeNames.map((name) => ({ name, mountPath: `/${name}` }));
  const before = await clone.start({
    replicas: 4,
    reuse,
    containers: [container("nginx", "nginx:1.20", { volumeMounts })],
    more: { volumeClaimTemplates: volumeNames.map((name) => claimTemplate(name, storage)) },
  });
  const claims = await claimsOf(clone);
  assert.equal(claims.length, 8);
  for (const pod of before) await clone.world.remove("pods", nameOf(pod));
  return { before, claims };
}

async function claimsOf({ world, name }: CloneSet): Promise<string[]> {
  const claims = await world.claims(`case=${name}`);
  return claims.map((claim) => `${nameOf(claim)} ${uidOf(claim)}`).sort();
}
