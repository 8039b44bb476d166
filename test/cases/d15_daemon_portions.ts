import assert from "node:assert/strict";
import { Daemons, daemonSet } from "./daemon_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const annotation = "daemonset.kruise.io/progressive-create-pod";

/** Spec daemonset 4.4, scenarios 14 to 16. */
export const suite: Suite = {
  number: "d15",
  title: "Advanced DaemonSet: creation in portions, in the words of both versions",
  needs: [],
  async run(world) {
    const sets = new Daemons(world);
    const nodes = await sets.pair();
    if (nodes === undefined) return;
    await world.step("1 the partition holds every creation back", async () => {
      await world.apply(portioned(world, nodes));
      await sets.untilRow("portion 2 0 0 0");
      await world.stays(async () => assert.deepEqual(await sets.pods("portion"), []), 5_000);
    });
    await world.step("2 each version says it in its own words", async () => {
      const alpha = await world.api.get("daemonsets.v1alpha1.apps.kruise.io", "portion", world.namespace);
      const beta = await world.api.get("daemonsets.v1beta1.apps.kruise.io", "portion", world.namespace);
      assert.equal(alpha.metadata.annotations?.[annotation], "true");
      assert.equal(alpha.spec?.scaleStrategy, undefined);
      assert.deepEqual(beta.spec?.scaleStrategy, { partitionedScaling: true });
      assert.equal(beta.status?.updateRevision, alpha.status?.["daemonSetHash"]);
      assert.ok(beta.status?.updateRevision);
    });
    await world.step("3 lowered by one: the lowest name", async () => {
      await sets.roll("portion", { partition: 1 });
      await sets.untilRow("portion 2 1 1 1 1");
      await sets.podOn("portion", nodes[0]);
    });
    await world.step("4 none held back", async () => {
      await sets.roll("portion", { partition: 0 });
      await sets.untilRow("portion 2 2 2 2 2");
    });
    await world.step("5 the selector stays", async () => {
      const labels = { case: "portion", more: "x" };
      const change = () =>
        sets.patch("portion", "merge", {
          spec: { selector: { matchLabels: labels }, template: { metadata: { labels } } },
        });
      const message = await world.refused(change, 422);
      const words =
        world.version === "v1alpha1"
          ? "'lifecycle',  'updateStrategy'"
          : "'lifecycle', 'scaleStrategy', 'updateStrategy'";
      assert.ok(
        message.endsWith(
          `spec: Forbidden: updates to daemonset spec for fields other than 'BurstReplicas', 'template', ${words}, 'minReadySeconds', and 'revisionHistoryLimit' are forbidden`,
        ),
        message,
      );
    });
  },
};

function portioned(world: World, nodes: readonly string[]): object {
  const isAlpha = world.version === "v1alpha1";
  return daemonSet(world.version, {
    name: "portion",
    nodes,
    rollingUpdate: { partition: 2 },
    ...(isAlpha
      ? { metadata: { annotations: { [annotation]: "true" } } }
      : { more: { scaleStrategy: { partitionedScaling: true } } }),
  });
}
