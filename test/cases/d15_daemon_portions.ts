import assert from "node:assert/strict";
import { DaemonSet, onTwoNodes } from "./daemon_sets.ts";
import { nameOf } from "./items.ts";
import type { Suite } from "./suite.ts";

const annotation = "daemonset.kruise.io/progressive-create-pod";

/** Spec daemonset 4.4, scenarios 14 to 16. */
export const suite: Suite = {
  number: "d15",
  title: "Advanced DaemonSet: creation in portions, in the words of both versions",
  needs: [],
  run: onTwoNodes(async (world, nodes) => {
    const portion = new DaemonSet(world, "portion");
    const isAlpha = world.version === "v1alpha1";
    await world.step("1 the partition holds every creation back", async () => {
      const asked = isAlpha
        ? { metadata: { annotations: { [annotation]: "true" } } }
        : { more: { scaleStrategy: { partitionedScaling: true } } };
      await portion.create({ nodes, rollingUpdate: { partition: 2 }, ...asked });
      await portion.untilRow("2 0 0 0");
      await world.stays(async () => assert.deepEqual((await portion.pods()).map(nameOf), []), 5_000);
    });
    await world.step("2 each version says it in its own words", async () => {
      const [alpha, beta] = [await portion.get("v1alpha1"), await portion.get("v1beta1")];
      assert.equal(alpha.metadata.annotations?.[annotation], "true");
      assert.equal(alpha.spec?.scaleStrategy, undefined);
      assert.deepEqual(beta.spec?.scaleStrategy, { partitionedScaling: true });
      assert.equal(beta.status?.updateRevision, alpha.status?.["daemonSetHash"]);
      assert.ok(beta.status?.updateRevision);
    });
    await world.step("3 lowered by one: the lowest name", async () => {
      await portion.roll({ partition: 1 });
      await portion.untilRow("2 1 1 1 1");
      await portion.podOn(nodes[0]);
    });
    await world.step("4 none held back", async () => {
      await portion.roll({ partition: 0 });
      await portion.untilAll(2);
    });
    await world.step("5 the selector stays", async () => {
      const labels = { case: "portion", more: "x" };
      const spec = { selector: { matchLabels: labels }, template: { metadata: { labels } } };
      const message = await world.refused(() => portion.mergeSpec(spec), 422);
      const fields = isAlpha
        ? "'lifecycle',  'updateStrategy'"
        : "'lifecycle', 'scaleStrategy', 'updateStrategy'";
      const words = `spec: Forbidden: updates to daemonset spec for fields other than 'BurstReplicas', 'template', ${fields}, 'minReadySeconds', and 'revisionHistoryLimit' are forbidden`;
      assert.ok(message.endsWith(words), message);
    });
  }),
};
