import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { resourceOf } from "./handle.ts";
import { firstOf, nameOf } from "./items.ts";
import { CronJob, timeOfName } from "./jobs.ts";
import type { Suite } from "./suite.ts";

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
    const cron = new CronJob(world, "warm");
    const schedule = world.simulated ? "@every 6s" : "*/1 * * * *";
    const limitMs = 200_000;
    const [node = ""] = await world.workers();
    const children = () => cron.children(resourceOf("ImageListPullJob", world.version));
    const over = async () =>
      (await children()).filter(({ status }) => status?.["completionTime"] !== undefined);
    const images = (child: Item | undefined) => child?.spec?.["images"];
    const template = { images: first, selector: { names: [node] }, pullPolicy: { timeoutSeconds: 60 } };

    await world.step("1 what is left out is filled in", async () => {
      await cron.create({ schedule, successfulJobsHistoryLimit: 1, template: listsOf(template) });
      const { spec } = await cron.get();
      assert.equal(spec?.["concurrencyPolicy"], "Replace");
      const stored = Object(spec?.["template"]).imageListPullJobTemplate?.spec;
      assert.deepEqual(stored?.completionPolicy, { type: "Always" });
    });
    await world.step("2 a child at each time pulls every image", async () => {
      const done = async () => assert.ok((await over()).length > 0, JSON.stringify(await children()));
      await world.once("the first child is done", done, limitMs);
      const child = firstOf(await over());
      assert.match(nameOf(child), /^warm-\d+$/);
      const scheduled = child.metadata.annotations?.["apps.kruise.io/scheduled-at"];
      assert.equal(Date.parse(scheduled ?? ""), timeOfName(nameOf(child)) * 1000);
      assert.deepEqual(images(child), first);
      assert.equal(child.metadata.ownerReferences?.[0]?.apiVersion, "apps.kruise.io/v1beta1");
      assert.equal(child.status?.["desired"], 2);
      assert.equal(child.status?.["succeeded"], 2);
      assert.equal((await cron.status())["type"], "ImageListPullJob");
      assert.match(await cron.row(), /ImageListPullJob/);
    });
    await world.step("3 a changed list counts from the next child on, and the older ones go", async () => {
      await cron.mergeSpec({ template: listsOf({ images: second }) });
      const alone = async () => {
        const done = await over();
        assert.deepEqual(images(done.at(-1)), second);
        assert.equal(done.length, 1);
      };
      await world.once("a child with the new list alone", alone, limitMs);
      await cron.remove();
      const gone = async () => assert.deepEqual((await children()).map(nameOf), []);
      await world.once("children go with it", gone, limitMs);
    });
    await world.step("4 refused", async () => {
      const bad = new CronJob(world, "bad");
      const completionPolicy = { type: "Always", ttlSecondsAfterFinished: 30 };
      const refusals: readonly [more: object, spec: object, words: string][] = [
        [{}, { completionPolicy }, "ttlSecondsAfterFinished is not supported in advancedCronJob"],
        [
          { concurrencyPolicy: "Allow" },
          {},
          "concurrencyPolicy should be Replace or Forbid, but current value is: Allow",
        ],
        [{}, { images: ["a:1", "a:1"] }, "duplicate"],
        [{}, { images: [] }, "image"],
      ];
      for (const [more, spec, words] of refusals) {
        const wrong = { schedule: "0 */2 * * *", ...more, template: listsOf({ ...template, ...spec }) };
        await world.refuses(422, () => bad.create(wrong), words);
      }
    });
  },
};

function listsOf(spec: object): object {
  return { imageListPullJobTemplate: { spec } };
}
