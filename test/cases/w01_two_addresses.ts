import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import type { ControllerProcess } from "./controllers.ts";
import { cloneSet } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const configurations = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] as const;

/** What names the controller's address. */
async function called(world: World): Promise<Item[]> {
  const names = { mutatingwebhookconfigurations: "mutating", validatingwebhookconfigurations: "validating" };
  const objects = await Promise.all(
    configurations.map((resource) =>
      world.api.get(
        `${resource}.v1.admissionregistration.k8s.io`,
        `kruise-${names[resource]}-webhook-configuration`,
      ),
    ),
  );
  const definition = await world.api.get("customresourcedefinitions", "clonesets.apps.kruise.io");
  return [...objects, definition];
}

async function versions(world: World): Promise<string[]> {
  return (await called(world)).map(({ metadata }) => metadata.resourceVersion);
}

/** Ports of all webhooks of admission and of conversion. */
async function calledPorts(world: World): Promise<Set<string>> {
  const text = JSON.stringify(await called(world));
  return new Set([...text.matchAll(/"url":"([^"]+)"/g)].map(([, url = ""]) => new URL(url).port));
}

async function leads(controller: ControllerProcess): Promise<boolean> {
  return /^kruise_manager_is_leader 1$/m.test(await controller.metrics());
}

/** Each replica has its own address and its own CA, as two processes on two machines outside a cluster have. */
export const suite: Suite = {
  number: "w01",
  title: "Two controllers at different addresses",
  needs: ["own-controller"],
  versions: ["v1beta1"],
  async run(world) {
    const first = await world.startController({ leaderElection: true });
    await world.until("the first leads", async () => assert.ok(await leads(first)));
    const second = await world.startController({ leaderElection: true });
    const pointTo = (controller: ControllerProcess) => async () =>
      assert.deepEqual([...(await calledPorts(world))], [String(controller.webhookPort)]);
    await world.step("webhooks are called at the leader, and nobody writes any more", async () => {
      await world.until("the leader's address", pointTo(first));
      const settled = await versions(world);
      await world.stays(async () => assert.deepEqual(await versions(world), settled), 20_000);
    });
    await world.step("they follow the lease", async () => {
      await first.stop();
      await world.within(30_000, "the other's address", pointTo(second));
      const created = await world.apply(cloneSet(world.version, { name: "admitted", replicas: 0 }));
      assert.equal(created.spec?.["revisionHistoryLimit"], 10);
    });
  },
};
