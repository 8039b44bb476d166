import assert from "node:assert/strict";
import { claimTemplate, cloneSet, container, volumes } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "c07",
  title: "CloneSet: claims of vanished pods, kept and not kept",
  needs: [],
  async run(world) {
    const storage = `reuse-${world.namespace}`;
    await world.applyVolumes(volumes(storage, storage, 24));
    await world.step("reuse on", async () => {
      const { names, claims, uids } = await create(world, "kept", storage, true);
      await deleteAll(world, names);
      await world.until("old names and claims, other pods", async () => {
        const pods = await world.podsOf("kept");
        assert.deepEqual(
          pods.map((pod) => pod.metadata.name),
          names,
        );
        assert.ok(pods.every((pod) => !uids.includes(pod.metadata.uid)));
        assert.deepEqual(await claimsOf(world, "kept"), claims);
        assert.equal(await world.row("kept"), "kept 4 4 4 4 4 4");
      });
    });
    await world.step("reuse off", async () => {
      const { names, claims } = await create(world, "dropped", storage, false);
      await deleteAll(world, names);
      await world.until("new names and claims", async () => {
        const pods = await world.podsOf("dropped");
        assert.equal(pods.length, 4);
        assert.ok(pods.every((pod) => !names.includes(pod.metadata.name)));
        const now = await claimsOf(world, "dropped");
        assert.equal(now.length, 8);
        assert.ok(now.every((claim) => !claims.includes(claim)));
        assert.equal(await world.row("dropped"), "dropped 4 4 4 4 4 4");
      });
    });
  },
};

async function create(
  world: World,
  name: string,
  storage: string,
  reuse: boolean,
): Promise<{ names: string[]; uids: string[]; claims: string[] }> {
  const mounts = ["logs", "data"].map((volume) => ({ name: volume, mountPath: `/${volume}` }));
  await world.apply(
    cloneSet(world.version, {
      name,
      replicas: 4,
      reuse,
      containers: [container("nginx", "nginx:1.20", { volumeMounts: mounts })],
      more: { volumeClaimTemplates: ["logs", "data"].map((claim) => claimTemplate(claim, storage)) },
    }),
  );
  const pods = await world.untilAll(name, 4);
  const claims = await claimsOf(world, name);
  assert.equal(claims.length, 8);
  return {
    names: pods.map((pod) => pod.metadata.name),
    uids: pods.map((pod) => pod.metadata.uid),
    claims,
  };
}

async function deleteAll(world: World, names: readonly string[]): Promise<void> {
  for (const name of names) await world.remove("pods", name);
}

async function claimsOf(world: World, name: string): Promise<string[]> {
  const claims = await world.list("persistentvolumeclaims", `case=${name}`);
  return claims.map(({ metadata }) => `${metadata.name} ${metadata.uid}`).sort();
}
