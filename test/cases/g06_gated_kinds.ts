import assert from "node:assert/strict";
import { gatedObjects } from "../../testkit/controller/minimal_objects.ts";
import { manifestOf, nameOf } from "./gated_kinds.ts";
import type { Suite } from "./suite.ts";

/** Case 01, step 6, its second half. */
export const suite: Suite = {
  number: "g06",
  title: "Kinds that gates switch on",
  needs: [],
  gates: "ImagePullJobGate=true,ResourceDistributionGate=true",
  versions: ["v1beta1"],
  async run(world) {
    const { api, namespace } = world;
    await world.step("1 they are accepted, and have nothing to do", async () => {
      for (const gated of gatedObjects) await api.create(manifestOf(gated, world), namespace);
      await world.until("their rows", async () => {
        for (const gated of gatedObjects) {
          const name = nameOf(gated, world);
          const row = await world.row(gated.resource, name);
          assert.match(row.slice(name.length + 1), gated.row, gated.kind);
        }
      });
    });
    await world.step("2 they go", async () => {
      for (const gated of gatedObjects) await api.remove(gated.resource, nameOf(gated, world), namespace);
      await world.until("gone", async () => {
        for (const gated of gatedObjects)
          assert.equal(
            await api.find(gated.resource, nameOf(gated, world), namespace),
            undefined,
            gated.kind,
          );
      });
    });
  },
};
