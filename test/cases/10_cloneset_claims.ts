import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { firstOf, imageOf, nameOf, onlyOf, phaseOf, uidOf } from "./items.ts";
import { claimTemplate, container, volumes } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const instanceId = "apps.kruise.io/cloneset-instance-id";
const columns = ["NAME", "STATUS", "VOLUME", "CAPACITY", "ACCESS MODES", "STORAGECLASS"];

function withClaims(storage: string) {
  return {
    containers: [container("nginx", "nginx:1.20", { volumeMounts: [{ name: "data", mountPath: "/data" }] })],
    more: { volumeClaimTemplates: [claimTemplate("data", storage)] },
  };
}

export const suite: Suite = {
  number: "10",
  title: "CloneSet: a claim of its own for every pod",
  needs: [],
  async run(world) {
    const storage = `claims-${world.namespace}`;
    const keep = new CloneSet(world, "keep");
    await world.step("1 claims", async () => {
      // Four are used. A creation that the server could not answer leaves its claim behind, which goes with its volume.
      await world.applyVolumes(volumes(storage, storage, 12));
      await keep.start({
        ...withClaims(storage),
        replicas: 2,
        reuse: true,
        strategy: { policy: "InPlaceIfPossible", maxUnavailable: 1 },
      });
      await checkClaims(keep);
    });
    const claims = await claimIdentities(world);
    const pods = await keep.livePods();
    await world.step("2 in place keeps them", async () => {
      await keep.toImage("nginx:1.21");
      await world.until("updated", async () => {
        await keep.assertAll(2);
        const now = await keep.pods();
        assert.deepEqual(now.map(imageOf), ["nginx:1.21", "nginx:1.21"]);
        assert.deepEqual(now.map(uidOf), pods.map(uidOf));
        assert.deepEqual(await claimIdentities(world), claims);
      });
    });
    await world.step("3 a vanished pod comes back with name and claim", async () => {
      const victim = firstOf(pods);
      await world.remove("pods", nameOf(victim));
      await world.until("same name, other pod", async () => {
        assert.notEqual(uidOf(await world.pod(nameOf(victim))), uidOf(victim));
        await keep.assertAll(2);
        assert.deepEqual(await claimIdentities(world), claims);
      });
    });
    await world.step("4 scale-in takes the claim along", async () => {
      await keep.scale(1);
      await world.until("one of each", async () => {
        await keep.assertAll(1);
        const left = onlyOf(await world.claims());
        assert.equal(nameOf(left), `data-${nameOf(firstOf(await keep.pods()))}`);
        assert.ok(claims.includes(claimIdentity(left)), claimIdentity(left));
      });
    });
    await world.step("5 deletion removes claims; no reuse", () => withoutReuse(keep, storage));
  },
};

function claimIdentity(claim: Item): string {
  return `${nameOf(claim)} ${uidOf(claim)}`;
}

async function claimIdentities(world: World): Promise<string[]> {
  return (await world.claims()).map(claimIdentity).sort();
}

async function checkClaims(keep: CloneSet): Promise<void> {
  const { world } = keep;
  const claims = await world.claims();
  const expected = (await keep.livePods()).map((pod) => `data-${nameOf(pod)}`);
  assert.deepEqual(claims.map(nameOf).sort(), expected.sort());
  const owner = await keep.get();
  for (const claim of claims) {
    const suffix = nameOf(claim).slice("data-keep-".length);
    assert.equal(phaseOf(claim), "Bound");
    assert.deepEqual(claim.metadata.labels, { case: "keep", [instanceId]: suffix });
    const { kind, name, uid, controller } = claim.metadata.ownerReferences?.[0] ?? {};
    assert.deepEqual([kind, name, uid, controller], ["CloneSet", "keep", uidOf(owner), true]);
    assert.equal(claim.metadata.ownerReferences?.length, 1);
  }
  const printed = await world.printed("persistentvolumeclaims");
  assert.deepEqual(printed.header.slice(0, 6), columns);
  for (const row of printed.rows) assert.deepEqual([row[1], row[3], row[4]], ["Bound", "1Gi", "RWO"]);
}

async function withoutReuse(keep: CloneSet, storage: string): Promise<void> {
  const { world } = keep;
  await keep.remove();
  await world.until("nothing is left", async () => {
    assert.deepEqual((await world.claims()).map(nameOf), []);
    assert.deepEqual((await world.list("pods")).map(nameOf), []);
  });
  const fresh = new CloneSet(world, "fresh");
  const old = onlyOf(await fresh.start({ ...withClaims(storage), reuse: false }));
  await world.remove("pods", nameOf(old));
  await world.until("a new pod with a new claim", async () => {
    const pod = onlyOf(await fresh.pods());
    assert.notEqual(nameOf(pod), nameOf(old));
    await fresh.assertAll(1);
    assert.deepEqual((await world.claims()).map(nameOf), [`data-${nameOf(pod)}`]);
  });
}
