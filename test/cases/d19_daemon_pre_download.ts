import assert from "node:assert/strict";
import { DaemonSet, onTwoNodes } from "./daemon_sets.ts";
import { nameOf } from "./items.ts";
import type { Suite } from "./suite.ts";

/** Spec daemonset 4.11, scenario 19. */
export const suite: Suite = {
  number: "d19",
  title: "Advanced DaemonSet: images are pulled ahead of an update",
  needs: [],
  gates: "PreDownloadImageForDaemonSetUpdate=true",
  versions: ["v1beta1"],
  run: onTwoNodes(async (world, nodes) => {
    const ahead = new DaemonSet(world, "ahead");
    const jobs = await world.trail("imagepulljobs");
    const assertNoJobs = async () => assert.deepEqual((await world.list("imagepulljobs")).map(nameOf), []);
    const hashOf = async () => (await ahead.status()).updateRevision ?? "";
    const untilMarked = (label: string) =>
      world.until("the revision is marked", async () => {
        const revision = await world.object("controllerrevisions", `ahead-${await hashOf()}`);
        assert.equal(revision.metadata.labels?.[label], "true");
      });
    await world.step("1 one job for the changed container", async () => {
      const metadata = { annotations: { "apps.kruise.io/image-predownload-parallelism": "2" } };
      await ahead.start(nodes, { metadata });
      await assertNoJobs();
      await ahead.toImage("nginx:1.21");
      await untilMarked("apps.kruise.io/pre-predownload-created");
      await ahead.untilAll(2);
    });
    await world.step("2 gone after the rollout", async () => {
      await world.until("no job is left", assertNoJobs);
      const hash = await hashOf();
      const seen = (await jobs.stop()).find(({ type }) => type === "ADDED")?.object;
      assert.equal(seen?.metadata.name, `ahead-${hash}-nginx`);
      assert.equal(seen?.metadata.labels?.["controller-revision-hash"], hash);
      assert.equal(seen?.metadata.ownerReferences?.[0]?.kind, "DaemonSet");
      assert.equal(seen?.spec?.["image"], "nginx:1.21");
      assert.equal(seen?.spec?.["parallelism"], 2);
      const values = [`ahead-${hash}`, hash];
      assert.deepEqual(seen?.spec?.["podSelector"], {
        matchLabels: { case: "ahead" },
        matchExpressions: [{ key: "controller-revision-hash", operator: "NotIn", values }],
      });
      const message = `created ImagePullJob ahead-${hash}-nginx for image: nginx:1.21`;
      await ahead.untilEvent("CreatedImagePullJob", { message });
    });
    await world.step("3 not when all are updated at once", async () => {
      await ahead.roll({ maxUnavailable: "100%" });
      await ahead.toImage("nginx:1.22");
      await untilMarked("apps.kruise.io/image-predownload-ignored");
      await assertNoJobs();
    });
  }),
};
