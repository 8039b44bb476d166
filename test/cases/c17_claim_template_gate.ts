import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { claimTemplate, cloneSet, container, imagePatch, type Policy, volumes } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "c17",
  title: "CloneSet: changed claim templates with their gate on",
  needs: [],
  gates: "RecreatePodWhenChangeVCTInCloneSetGate=true",
  async run(world) {
    const storage = `sizes-${world.namespace}`;
    await world.applyVolumes(volumes(storage, storage, 8, "2Gi"));
    await world.step("the size alone changes nothing", async () => {
      const before = await create(world, "sized", "InPlaceIfPossible", storage);
      await resize(world, "sized");
      await world.stays(async () =>
        assert.deepEqual((await world.podsOf("sized")).map(uid), before.map(uid)),
      );
    });
    await world.step("image and size replace pods and claims", async () => {
      const before = await world.podsOf("sized");
      await world.patch("sized", "json", imagePatch("nginx:1.21"));
      await world.until("replaced", async () => {
        const pods = await world.podsOf("sized");
        assert.equal(pods.length, 2);
        assert.ok(pods.every((pod) => !before.some((old) => uid(old) === uid(pod))));
        assert.deepEqual(await sizes(world, "sized"), ["2Gi", "2Gi"]);
        assert.equal(await world.row("sized"), "sized 2 2 2 2 2 2");
      });
    });
    await world.step("InPlaceOnly keeps its claims", async () => {
      const before = await create(world, "fixed", "InPlaceOnly", storage);
      await resize(world, "fixed");
      await world.patch("fixed", "json", imagePatch("nginx:1.21"));
      await world.until("updated in place", async () => {
        const pods = await world.podsOf("fixed");
        assert.deepEqual(pods.map(uid), before.map(uid));
        assert.ok(pods.every((pod) => pod.spec?.containers?.[0]?.image === "nginx:1.21"));
        assert.deepEqual(await sizes(world, "fixed"), ["1Gi", "1Gi"]);
        assert.equal(await world.row("fixed"), "fixed 2 2 2 2 2 2");
      });
    });
  },
};

const uid = (item: Item): string => item.metadata.uid;

async function create(world: World, name: string, policy: Policy, storage: string): Promise<Item[]> {
  await world.apply(
    cloneSet(world.version, {
      name,
      replicas: 2,
      strategy: { policy, maxUnavailable: 1 },
      containers: [
        container("nginx", "nginx:1.20", { volumeMounts: [{ name: "data", mountPath: "/data" }] }),
      ],
      more: { volumeClaimTemplates: [claimTemplate("data", storage)] },
    }),
  );
  return world.untilAll(name, 2);
}

async function resize(world: World, name: string): Promise<void> {
  const path = "/spec/volumeClaimTemplates/0/spec/resources/requests/storage";
  await world.patch(name, "json", [{ op: "replace", path, value: "2Gi" }]);
}

async function sizes(world: World, name: string): Promise<unknown[]> {
  const claims = await world.list("persistentvolumeclaims", `case=${name}`);
  return claims.map((claim) => claim.spec?.["resources"]).map((resources) => requested(resources));
}

function requested(resources: unknown): unknown {
  const { requests }: { requests?: Record<string, unknown> } = {
    ...(typeof resources === "object" ? resources : {}),
  };
  return requests?.["storage"];
}
