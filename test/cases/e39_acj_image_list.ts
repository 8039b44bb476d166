import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { cronJob, Jobs, timeOfName } from "./jobs.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const first = ["busybox:1.32", "busybox:1.33"];
const second = ["busybox:1.32"];

export const suite: Suite = {
  number: "e39",
  title: "AdvancedCronJob: images pulled to nodes time and again",
  needs: ["agent"],
  // Only this version has the template.
  versions: ["v1beta1"],
  // The gate of case 49: it switches ImagePullJobGate on.
  gates: "PreDownloadImageForInPlaceUpdate=true",
  async run(world) {
    const jobs = new Jobs(world);
    const lists = `imagelistpulljobs.${world.version}.apps.kruise.io`;
    const schedule = world.simulated ? "@every 6s" : "*/1 * * * *";
    const patience = { timeoutMs: 200_000, stableMs: 0 };
    const [node = ""] = await jobs.workers();
    const children = () => jobs.children("warm", lists);
    const over = async () => (await children()).filter(({ status }) => status?.completionTime !== undefined);
    const images = (child: Item | undefined) => child?.spec?.["images"];
    const template = { images: first, selector: { names: [node] }, pullPolicy: { timeoutSeconds: 60 } };

    await world.step("1 what is left out is filled in", async () => {
      await world.apply(manifest(world, "warm", schedule, template, { successfulJobsHistoryLimit: 1 }));
      const { spec } = await jobs.cron("warm");
      assert.equal(spec?.["concurrencyPolicy"], "Replace");
      const stored = (spec?.["template"] as { imageListPullJobTemplate?: { spec?: object } } | undefined)
        ?.imageListPullJobTemplate?.spec;
      assert.deepEqual((stored as { completionPolicy?: object } | undefined)?.completionPolicy, {
        type: "Always",
      });
    });
    await world.step("2 a child at each time pulls every image", async () => {
      await world.until(
        "the first child is done",
        async () => assert.ok((await over()).length > 0, JSON.stringify(await children())),
        patience,
      );
      const [child] = await over();
      assert.ok(child);
      assert.match(child.metadata.name, /^warm-\d+$/);
      assert.equal(
        Date.parse(child.metadata.annotations?.["apps.kruise.io/scheduled-at"] ?? ""),
        timeOfName(child.metadata.name) * 1000,
      );
      assert.deepEqual(images(child), first);
      assert.equal(child.metadata.ownerReferences?.[0]?.apiVersion, "apps.kruise.io/v1beta1");
      assert.equal(child.status?.["desired"], 2);
      assert.equal(child.status?.["succeeded"], 2);
      const { status } = await jobs.cron("warm");
      assert.equal(status?.["type"], "ImageListPullJob");
      assert.match(await world.row("warm", { resource: jobs.crons }), /ImageListPullJob/);
    });
    await world.step("3 a changed list counts from the next child on, and the older ones go", async () => {
      const spec = { template: { imageListPullJobTemplate: { spec: { images: second } } } };
      await jobs.patch("warm", { spec }, jobs.crons);
      await world.until(
        "a child with the new list alone",
        async () => {
          const done = await over();
          assert.deepEqual(images(done.at(-1)), second);
          assert.equal(done.length, 1);
        },
        patience,
      );
      await world.remove(jobs.crons, "warm");
      await world.until("children go with it", async () => assert.deepEqual(await children(), []), patience);
    });
    await world.step("4 refused", () => refusals(world, template));
  },
};

function manifest(world: World, name: string, schedule: string, template: object, more: object = {}): object {
  const spec = { schedule, ...more, template: { imageListPullJobTemplate: { spec: template } } };
  return cronJob(world.version, name, spec);
}

async function refusals(world: World, template: object): Promise<void> {
  const refused = (more: object, spec: object = {}) =>
    world.refused(
      () => world.apply(manifest(world, "bad", "0 */2 * * *", { ...template, ...spec }, more)),
      422,
    );
  const completionPolicy = { type: "Always", ttlSecondsAfterFinished: 30 };
  assert.match(
    await refused({}, { completionPolicy }),
    /ttlSecondsAfterFinished is not supported in advancedCronJob/,
  );
  assert.match(
    await refused({ concurrencyPolicy: "Allow" }),
    /concurrencyPolicy should be Replace or Forbid, but current value is: Allow/,
  );
  assert.match(await refused({}, { images: ["a:1", "a:1"] }), /duplicate/);
  assert.match(await refused({}, { images: [] }), /image/);
}
