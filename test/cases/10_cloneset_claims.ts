import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { type CloneSetShape, claimTemplate, cloneSet, container, imagePatch, volumes } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const instanceId = "apps.kruise.io/cloneset-instance-id";

function withClaims(name: string, storage: string): CloneSetShape {
  return {
    name,
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
    await world.step("1 claims", async () => {
      // Four are used. A creation that the server could not answer leaves its claim behind, which goes with its volume.
      await world.applyVolumes(volumes(storage, storage, 12));
      await world.apply(
        cloneSet(world.version, {
          ...withClaims("keep", storage),
          replicas: 2,
          reuse: true,
          strategy: { policy: "InPlaceIfPossible", maxUnavailable: 1 },
        }),
      );
      await world.untilAll("keep", 2);
      await checkClaims(world);
    });
    const claims = await claimIdentities(world);
    const pods = await world.livePodsOf("keep");
    await world.step("2 in place keeps them", async () => {
      await world.patch("keep", "json", imagePatch("nginx:1.21"));
      await world.until("updated", async () => {
        assert.equal(await world.row("keep"), "keep 2 2 2 2 2 2");
        const now = await world.podsOf("keep");
        assert.ok(now.every((pod) => pod.spec?.containers?.[0]?.image === "nginx:1.21"));
        assert.deepEqual(now.map(uid), pods.map(uid));
        assert.deepEqual(await claimIdentities(world), claims);
      });
    });
    await world.step("3 a vanished pod comes back with name and claim", async () => {
      const victim = pods[0];
      if (victim === undefined) throw new Error("no pod");
      await world.remove("pods", victim.metadata.name);
      await world.until("same name, other pod", async () => {
        const now = await world.api.get("pods", victim.metadata.name, world.namespace);
        assert.notEqual(now.metadata.uid, victim.metadata.uid);
        assert.equal(await world.row("keep"), "keep 2 2 2 2 2 2");
        assert.deepEqual(await claimIdentities(world), claims);
      });
    });
    await world.step("4 scale-in takes the claim along", async () => {
      await world.scale("keep", 1);
      await world.until("one of each", async () => {
        const [pod] = await world.podsOf("keep");
        assert.equal(await world.row("keep"), "keep 1 1 1 1 1 1");
        const left = await world.list("persistentvolumeclaims");
        assert.deepEqual(left.map(name), [`data-${pod?.metadata.name}`]);
        assert.ok(claims.includes(left.map((claim) => `${name(claim)} ${uid(claim)}`)[0] ?? ""));
      });
    });
    await world.step("5 deletion removes claims; no reuse", () => withoutReuse(world, storage));
  },
};

const uid = (item: Item): string => item.metadata.uid;
const name = (item: Item): string => item.metadata.name;

async function claimIdentities(world: World): Promise<string[]> {
  return (await world.list("persistentvolumeclaims")).map((claim) => `${name(claim)} ${uid(claim)}`).sort();
}

async function checkClaims(world: World): Promise<void> {
  const pods = await world.livePodsOf("keep");
  const claims = await world.list("persistentvolumeclaims");
  assert.deepEqual(claims.map(name).sort(), pods.map((pod) => `data-${name(pod)}`).sort());
  const owner = await world.get("keep");
  for (const claim of claims) {
    const suffix = name(claim).slice("data-keep-".length);
    assert.equal(claim.status?.phase, "Bound");
    assert.deepEqual(claim.metadata.labels, { case: "keep", [instanceId]: suffix });
    assert.deepEqual(
      claim.metadata.ownerReferences?.map((reference) => [
        reference.kind,
        reference.name,
        reference.uid,
        reference.controller,
      ]),
      [["CloneSet", "keep", uid(owner), true]],
    );
  }
  const printed = await world.printed("persistentvolumeclaims");
  assert.deepEqual(printed.header.slice(0, 6), [
    "NAME",
    "STATUS",
    "VOLUME",
    "CAPACITY",
    "ACCESS MODES",
    "STORAGECLASS",
  ]);
  for (const row of printed.rows) assert.deepEqual([row[1], row[3], row[4]], ["Bound", "1Gi", "RWO"]);
}

async function withoutReuse(world: World, storage: string): Promise<void> {
  await world.remove(world.cloneSets, "keep");
  await world.until("nothing is left", async () => {
    assert.deepEqual((await world.list("persistentvolumeclaims")).map(name), []);
    assert.deepEqual((await world.list("pods")).map(name), []);
  });
  await world.apply(cloneSet(world.version, { ...withClaims("fresh", storage), reuse: false }));
  const [old] = await world.untilAll("fresh", 1);
  if (old === undefined) throw new Error("no pod");
  await world.remove("pods", name(old));
  await world.until("a new pod with a new claim", async () => {
    const [pod, ...others] = await world.podsOf("fresh");
    assert.equal(others.length, 0);
    assert.ok(pod !== undefined && name(pod) !== name(old));
    assert.equal(await world.row("fresh"), "fresh 1 1 1 1 1 1");
    assert.deepEqual((await world.list("persistentvolumeclaims")).map(name), [`data-${name(pod)}`]);
  });
}
