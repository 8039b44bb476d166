import assert from "node:assert/strict";
import { Daemons, daemonSet } from "./daemon_sets.ts";
import type { Suite } from "./suite.ts";

const created = "apps.kruise.io/pre-predownload-created";
const ignored = "apps.kruise.io/image-predownload-ignored";

/** Spec daemonset 4.11, scenario 19. */
export const suite: Suite = {
  number: "d19",
  title: "Advanced DaemonSet: images are pulled ahead of an update",
  needs: [],
  gates: "PreDownloadImageForDaemonSetUpdate=true",
  versions: ["v1beta1"],
  async run(world) {
    const sets = new Daemons(world);
    const nodes = await sets.pair();
    if (nodes === undefined) return;
    const jobs = await world.trail("imagepulljobs");
    const names = async () => (await world.list("imagepulljobs")).map(({ metadata }) => metadata.name);
    await world.step("1 one job for the changed container", async () => {
      const metadata = { annotations: { "apps.kruise.io/image-predownload-parallelism": "2" } };
      await world.apply(daemonSet(world.version, { name: "ahead", nodes, metadata }));
      await sets.untilRow("ahead 2 2 2 2 2");
      assert.deepEqual(await names(), []);
      await sets.toImage("ahead", "nginx:1.21");
      await world.until("the revision is marked", async () => {
        const hash = (await sets.get("ahead")).status?.updateRevision ?? "";
        const revision = await world.api.get("controllerrevisions", `ahead-${hash}`, world.namespace);
        assert.equal(revision.metadata.labels?.[created], "true");
      });
      await sets.untilRow("ahead 2 2 2 2 2");
    });
    await world.step("2 gone after the rollout", async () => {
      await world.until("no job is left", async () => assert.deepEqual(await names(), []));
      const hash = (await sets.get("ahead")).status?.updateRevision ?? "";
      const [seen] = (await jobs.stop()).filter(({ type }) => type === "ADDED");
      assert.equal(seen?.object.metadata.name, `ahead-${hash}-nginx`);
      assert.equal(seen?.object.metadata.labels?.["controller-revision-hash"], hash);
      assert.equal(seen?.object.metadata.ownerReferences?.[0]?.kind, "DaemonSet");
      assert.equal(seen?.object.spec?.["image"], "nginx:1.21");
      assert.equal(seen?.object.spec?.["parallelism"], 2);
      assert.deepEqual(seen?.object.spec?.["podSelector"], {
        matchLabels: { case: "ahead" },
        matchExpressions: [
          { key: "controller-revision-hash", operator: "NotIn", values: [`ahead-${hash}`, hash] },
        ],
      });
      await world.until(
        "an event tells it",
        async () => {
          const events = await sets.events("ahead");
          const message = `created ImagePullJob ahead-${hash}-nginx for image: nginx:1.21`;
          assert.ok(
            events.some((event) => event.reason === "CreatedImagePullJob" && event.message === message),
          );
        },
        { stableMs: 0 },
      );
    });
    await world.step("3 not when all are updated at once", async () => {
      await sets.roll("ahead", { maxUnavailable: "100%" });
      await sets.toImage("ahead", "nginx:1.22");
      await world.until("the revision is marked", async () => {
        const hash = (await sets.get("ahead")).status?.updateRevision ?? "";
        const revision = await world.api.get("controllerrevisions", `ahead-${hash}`, world.namespace);
        assert.equal(revision.metadata.labels?.[ignored], "true");
      });
      assert.deepEqual(await names(), []);
    });
  },
};
