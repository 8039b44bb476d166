import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { imageOf, uidOf } from "./items.ts";
import { claimTemplate, container, type Policy, replacePatch, volumes } from "./manifests.ts";
import type { Suite } from "./suite.ts";

const sizePath = "/spec/volumeClaimTemplates/0/spec/resources/requests/storage";

export const suite: Suite = {
  number: "c17",
  title: "CloneSet: changed claim templates with their gate on",
  needs: [],
  gates: "RecreatePodWhenChangeVCTInCloneSetGate=true",
  async run(world) {
    const storage = `sizes-${world.namespace}`;
    await world.applyVolumes(volumes(storage, storage, 8, "2Gi"));
    const sized = new CloneSet(world, "sized");
    await world.step("the size alone changes nothing", async () => {
      const before = await start(sized, "InPlaceIfPossible", storage);
      await sized.patch("json", replacePatch(sizePath, "2Gi"));
      await world.stays(async () => assert.deepEqual((await sized.pods()).map(uidOf), before.map(uidOf)));
    });
    await world.step("image and size replace pods and claims", async () => {
      const before = await sized.pods();
      await sized.toImage("nginx:1.21");
      await sized.untilReplaced(before);
      await world.until("larger claims", async () => assert.deepEqual(await sizes(sized), ["2Gi", "2Gi"]));
    });
    await world.step("InPlaceOnly keeps its claims", async () => {
      const fixed = new CloneSet(world, "fixed");
      const before = await start(fixed, "InPlaceOnly", storage);
      await fixed.patch("json", replacePatch(sizePath, "2Gi"));
      await fixed.toImage("nginx:1.21");
      await world.until("updated in place", async () => {
        const pods = await fixed.pods();
        assert.deepEqual(pods.map(uidOf), before.map(uidOf));
        assert.deepEqual(pods.map(imageOf), ["nginx:1.21", "nginx:1.21"]);
        assert.deepEqual(await sizes(fixed), ["1Gi", "1Gi"]);
        await fixed.assertAll(2);
      });
    });
  },
};

function start(clone: CloneSet, policy: Policy, storage: string): Promise<Item[]> {
  const volumeMounts = [{ name: "data", mountPath: "/data" }];
  return clone.start({
    replicas: 2,
    strategy: { policy, maxUnavailable: 1 },
    containers: [container("nginx", "nginx:1.20", { volumeMounts })],
    more: { volumeClaimTemplates: [claimTemplate("data", storage)] },
  });
}

async function sizes({ world, name }: CloneSet): Promise<unknown[]> {
  const claims = await world.claims(`case=${name}`);
  return claims.map(({ spec }) => Object(spec?.["resources"]).requests?.storage);
}
