import assert from "node:assert/strict";
import { leaderOf } from "../cases/controllers.ts";
import { imagePatch } from "../cases/manifests.ts";
import { extremesOf } from "../cases/trail.ts";
import type { World } from "../cases/world.ts";
import { isRecord } from "../cluster/api.ts";
import { Installation } from "./installation.ts";
import { otherwiseChanged } from "./rollout_course.ts";
import { startPods } from "./started_pods.ts";
import type { LifeSuite } from "./suite.ts";

const name = "upgraded";
const replicas = 60;
const maxUnavailable = 6;
const image = "app:2";

/** The API server is replaced by one of the next version in the middle of a rollout. */
export const serverUpgradeSuite: LifeSuite = {
  number: "l04",
  title: "The API server is upgraded in the middle of a rollout",
  needs: ["own-controller"],
  versions: ["v1beta1"],
  async run(world, { nodes, cluster, formerServer: release }) {
    const installation = new Installation(world);
    await world.step(`two replicas, ${replicas} pods, a server of the former version`, async () => {
      await cluster.startServer(release === undefined ? { emulatedVersion: "1.33" } : { release });
      assert.equal(await serverMinor(world), release?.split(".")[1] ?? "33");
      if (release !== undefined) assert.equal(await serverRelease(world), `v${release}`);
      await installation.begin();
      await startPods(world, nodes, { name, replicas, maxUnavailable });
    });
    await world.step("the rollout goes on with a server of the next version", async () => {
      const before = await world.podsOf(name);
      await world.patch(name, "json", imagePatch(image));
      await world.until("some are updated", async () => assert.ok((await updated(world)) >= maxUnavailable), {
        stableMs: 0,
      });
      await cluster.startServer({});
      assert.equal(await serverMinor(world), "34");
      assert.ok((await updated(world)) < replicas, "the upgrade was in the middle");
      const trail = await world.trail("pods", `case=${name}`);
      await world.untilAllUpdated(name, replicas, image, { timeoutMs: 180_000, stableMs: 1_000 });
      const { leastAvailable, worst } = extremesOf(await trail.stop());
      assert.ok(leastAvailable >= replicas - maxUnavailable, `available fell to ${leastAvailable}: ${worst}`);
      assert.deepEqual(otherwiseChanged(before, await world.podsOf(name), 1), []);
    });
    await world.step("both replicas still run, one leads", async () => {
      assert.deepEqual(
        installation.replicas.map((replica) => replica.exitCode()),
        [undefined, undefined],
      );
      await leaderOf(installation.replicas);
    });
  },
};

async function updated(world: World): Promise<number> {
  return (await world.podsOf(name)).filter((pod) => pod.spec?.containers?.[0]?.image === image).length;
}

/** Of the program that serves. */
async function serverRelease({ api }: World): Promise<unknown> {
  const { body } = await api.request("GET", "/version");
  return isRecord(body) ? body["gitVersion"] : undefined;
}

/** Of the version whose API and features are served. */
async function serverMinor({ api }: World): Promise<unknown> {
  const { body } = await api.request("GET", "/version");
  return isRecord(body) ? (body["emulationMinor"] ?? body["minor"]) : undefined;
}
