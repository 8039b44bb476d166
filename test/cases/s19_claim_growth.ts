import assert from "node:assert/strict";
import { nameOf } from "./items.ts";
import { claimTemplate, imagePatch, replacePatch, volumes } from "./manifests.ts";
import { StatefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";

const sizePath = "/spec/volumeClaimTemplates/0/spec/resources/requests/storage";
const volumeClaimUpdateStrategy = { type: "OnPodRollingUpdate" };

export const suite: Suite = {
  number: "s19",
  title: "Advanced StatefulSet: claims that grow, and claims that go",
  needs: [],
  gates: "StatefulSetAutoResizePVCGate=true",
  versions: ["v1beta1"],
  async run(world) {
    const db = new StatefulSet(world, "db");
    const storage = `grow-${world.namespace}`;
    const fixed = `fixed-${world.namespace}`;
    try {
      await world.step("1 create", async () => {
        for (const [name, allowVolumeExpansion] of [
          [storage, true],
          [fixed, false],
        ] as const) {
          const created = await world.api.request("POST", "/apis/storage.k8s.io/v1/storageclasses", {
            apiVersion: "storage.k8s.io/v1",
            kind: "StorageClass",
            metadata: { name },
            provisioner: "kubernetes.io/no-provisioner",
            allowVolumeExpansion,
          });
          assert.equal(created.status, 201);
        }
        await world.applyVolumes(volumes(storage, storage, 3));
        await db.start({
          replicas: 3,
          podSpec: { terminationGracePeriodSeconds: 1 },
          more: {
            volumeClaimUpdateStrategy,
            volumeClaimTemplates: [claimTemplate("data", storage)],
            persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete", whenDeleted: "Delete" },
          },
        });
        for (const { metadata } of await world.claims())
          assert.equal(metadata.ownerReferences?.[0]?.kind, "StatefulSet");
      });
      await world.step("2 size and image together", () => grow(db));
      await world.step("3 claims go with their pods", async () => {
        await db.scale(1);
        await db.untilAll(1);
        await world.until("one claim is left", async () => {
          assert.deepEqual((await world.claims()).map(nameOf), ["data-db-0"]);
        });
      });
      await world.step("4 a class of fixed size", async () => {
        const stiff = new StatefulSet(world, "stiff");
        const volumeClaimTemplates = [claimTemplate("data", fixed)];
        await stiff.create({ replicas: 0, more: { volumeClaimUpdateStrategy, volumeClaimTemplates } });
        const send = () => stiff.patch("json", replacePatch(sizePath, "2Gi"));
        await world.refuses(422, send, `storage class ${fixed} does not support volume expansion`);
      });
    } finally {
      for (const name of [storage, fixed]) {
        await world.api.request("DELETE", `/apis/storage.k8s.io/v1/storageclasses/${name}`);
      }
    }
  },
};

/** No resizer runs here: what it would report is reported by hand. */
async function grow(db: StatefulSet): Promise<void> {
  const { world } = db;
  await db.patch("json", [...replacePatch(sizePath, "2Gi"), ...imagePatch("nginx:1.21")]);
  for (const ordinal of [2, 1, 0]) {
    const name = `data-db-${ordinal}`;
    await world.until(`${name} asks for more`, async () => {
      const asking = (await world.claims()).filter(({ spec }) =>
        JSON.stringify(spec?.["resources"]).includes("2Gi"),
      );
      assert.equal(asking.length, 3 - ordinal, "one after the other");
      const claim = asking.find((one) => nameOf(one) === name);
      assert.equal(claim?.metadata.annotations?.["apps.kruise.io/owned-by-asts"], "db");
      assert.equal((await db.tags())[`db-${ordinal}`], "1.20");
    });
    const capacity = { storage: "2Gi" };
    const { spec } = await world.object("persistentvolumeclaims", name);
    await world.patch("persistentvolumes", String(spec?.["volumeName"]), "merge", { spec: { capacity } });
    await world.patch("persistentvolumeclaims", name, "merge", { status: { capacity } }, "status");
  }
  await db.untilAll(3);
  await world.until("all claims have grown", async () => {
    assert.deepEqual((await db.status())["volumeClaims"], [
      { volumeClaimName: "data", compatibleReplicas: 3, compatibleReadyReplicas: 3 },
    ]);
    assert.deepEqual(Object.values(await db.tags()), ["1.21", "1.21", "1.21"]);
  });
  await world.once("an event tells it", async () => {
    const messages = (await db.events("SuccessfulResize")).map(({ message }) => message);
    assert.ok(
      messages.includes("resize Claim data-db-2 Pod db-2 in StatefulSet db success"),
      messages.join(),
    );
  });
}
