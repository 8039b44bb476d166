import assert from "node:assert/strict";
import { CloneSet } from "../cases/clone_sets.ts";
import { leaderOf } from "../cases/controllers.ts";
import { imageOf } from "../cases/items.ts";
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
    const clone = new CloneSet(world, name);
    const installation = new Installation(world);
    await world.step(`two replicas, ${replicas} pods, a server of the former version`, async () => {
      await cluster.startServer(release === undefined ? { emulatedVersion: "1.33" } : { release });
      assert.equal(await serverMinor(world), release?.split(".")[1] ?? "33");
      if (release !== undefined) assert.equal(await serverRelease(world), `v${release}`);
      await installation.begin();
      await startPods(world, nodes, { name, replicas, maxUnavailable });
    });
    await world.step("the rollout goes on with a server of the next version", async () => {
      const before = await clone.pods();
      await clone.toImage(image);
      await world.once("some are updated", async () => assert.ok((await updated(clone)) >= maxUnavailable));
      await cluster.startServer({});
      assert.equal(await serverMinor(world), "34");
      assert.ok((await updated(clone)) < replicas, "the upgrade was in the middle");
      const trail = await clone.trail();
      await clone.untilUpdated(replicas, image, { timeoutMs: 180_000, stableMs: 1_000 });
      await trail.neverBelow(replicas - maxUnavailable);
      assert.deepEqual(otherwiseChanged(before, await clone.pods(), 1), []);
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

async function updated(clone: CloneSet): Promise<number> {
  return (await clone.pods()).filter((pod) => imageOf(pod) === image).length;
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
