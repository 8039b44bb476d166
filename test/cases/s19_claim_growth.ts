import assert from "node:assert/strict";
import { claimTemplate, imagePatch, volumes } from "./manifests.ts";
import { Sets, statefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "s19",
  title: "Advanced StatefulSet: claims that grow, and claims that go",
  needs: [],
  gates: "StatefulSetAutoResizePVCGate=true",
  versions: ["v1beta1"],
  async run(world) {
    const sets = new Sets(world);
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
        await world.apply(
          statefulSet(world.version, {
            name: "db",
            replicas: 3,
            podSpec: { terminationGracePeriodSeconds: 1 },
            more: {
              volumeClaimUpdateStrategy: { type: "OnPodRollingUpdate" },
              volumeClaimTemplates: [claimTemplate("data", storage)],
              persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete", whenDeleted: "Delete" },
            },
          }),
        );
        await sets.untilRow("db 3 3 3 3");
        const claims = await world.list("persistentvolumeclaims");
        for (const { metadata } of claims) assert.equal(metadata.ownerReferences?.[0]?.kind, "StatefulSet");
      });
      await world.step("2 size and image together", () => grow(world, sets));
      await world.step("3 claims go with their pods", async () => {
        await sets.scale("db", 1);
        await sets.untilRow("db 1 1 1 1");
        await world.until("one claim is left", async () => {
          const claims = await world.list("persistentvolumeclaims");
          assert.deepEqual(
            claims.map(({ metadata }) => metadata.name),
            ["data-db-0"],
          );
        });
      });
      await world.step("4 a class of fixed size", async () => {
        await world.apply(
          statefulSet(world.version, {
            name: "stiff",
            replicas: 0,
            more: {
              volumeClaimUpdateStrategy: { type: "OnPodRollingUpdate" },
              volumeClaimTemplates: [claimTemplate("data", fixed)],
            },
          }),
        );
        const message = await sets.refusedPatch("stiff", sizePatch("2Gi"), "json");
        assert.ok(message.includes(`storage class ${fixed} does not support volume expansion`), message);
      });
    } finally {
      for (const name of [storage, fixed]) {
        await world.api.request("DELETE", `/apis/storage.k8s.io/v1/storageclasses/${name}`);
      }
    }
  },
};

function sizePatch(storage: string): object[] {
  const path = "/spec/volumeClaimTemplates/0/spec/resources/requests/storage";
  return [{ op: "replace", path, value: storage }];
}

/** No resizer runs here: what it would report is reported by hand. */
async function grow(world: World, sets: Sets): Promise<void> {
  await sets.patch("db", "json", [...sizePatch("2Gi"), ...imagePatch("nginx:1.21")]);
  for (const ordinal of [2, 1, 0]) {
    const name = `data-db-${ordinal}`;
    await world.until(`${name} asks for more`, async () => {
      const claims = await world.list("persistentvolumeclaims");
      const asking = claims.filter(({ spec }) => JSON.stringify(spec?.["resources"]).includes("2Gi"));
      assert.equal(asking.length, 3 - ordinal, "one after the other");
      const claim = asking.find(({ metadata }) => metadata.name === name);
      assert.equal(claim?.metadata.annotations?.["apps.kruise.io/owned-by-asts"], "db");
      assert.equal((await sets.images("db"))[`db-${ordinal}`], "1.20");
    });
    const capacity = { storage: "2Gi" };
    const claim = await world.api.get("persistentvolumeclaims", name, world.namespace);
    const volume = String(claim.spec?.["volumeName"]);
    await world.api.patch("persistentvolumes", volume, undefined, "merge", { spec: { capacity } });
    const status = { capacity };
    await world.api.patch("persistentvolumeclaims", name, world.namespace, "merge", { status }, "status");
  }
  await sets.untilRow("db 3 3 3 3");
  await world.until("all claims have grown", async () => {
    const { status } = await sets.get("db");
    assert.deepEqual(status?.["volumeClaims"], [
      { volumeClaimName: "data", compatibleReplicas: 3, compatibleReadyReplicas: 3 },
    ]);
    assert.deepEqual(Object.values(await sets.images("db")), ["1.21", "1.21", "1.21"]);
  });
  await world.until(
    "an event tells it",
    async () => {
      const resized = await sets.events("db", "SuccessfulResize");
      assert.ok(
        resized.some(
          ({ message }) => message === "resize Claim data-db-2 Pod db-2 in StatefulSet db success",
        ),
      );
    },
    { stableMs: 0 },
  );
}
