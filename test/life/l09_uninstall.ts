import assert from "node:assert/strict";
import { CloneSet } from "../cases/clone_sets.ts";
import { configurationNames } from "../cases/trusted_authorities.ts";
import type { World } from "../cases/world.ts";
import { Installation } from "./installation.ts";
import { otherwiseChanged } from "./rollout_course.ts";
import { startPods } from "./started_pods.ts";
import type { LifeSuite } from "./suite.ts";

const name = "left";
const replicas = 20;
const group = "apps.kruise.io";

/** Nothing is installed any more when it ends. */
export const uninstallSuite: LifeSuite = {
  number: "l09",
  title: "Uninstall with workloads that run",
  needs: ["own-controller"],
  versions: ["v1beta1"],
  async run(world, { nodes }) {
    const installation = new Installation(world);
    await world.step(`two replicas, ${replicas} pods`, async () => {
      await installation.begin();
      await startPods(world, nodes, { name, replicas });
    });
    const clone = new CloneSet(world, name);
    const before = await clone.pods();
    const untouched = async () => {
      const pods = await world.list("pods", `case=${name}`);
      assert.deepEqual(otherwiseChanged(before, pods, 0), [], "pods that are not as before");
      assert.deepEqual(
        pods.filter(({ metadata }) => metadata.deletionTimestamp !== undefined),
        [],
      );
    };
    await world.step("it is refused, with what is left, and removes nothing", async () => {
      const installed = await installedObjects(world);
      for (const [words, table] of [
        [["uninstall"], /^$/],
        [["uninstall", "--check"], /^IN THE WAY +OBJECTS\nclonesets\.apps\.kruise\.io +\S+\/left\n$/],
      ] as const) {
        const { code, stdout, stderr } = await world.refit(...words);
        assert.equal(code, 1);
        assert.match(stdout, table);
        assert.match(stderr, /^error: there still exists some clonesets in the cluster; delete them first/);
      }
      assert.deepEqual(await installedObjects(world), installed);
      await untouched();
    });
    await world.step("a CloneSet that is deleted alone leaves its pods", async () => {
      await clone.remove({ propagationPolicy: "Orphan" });
      // Its pods are no longer found by their owner.
      await clone.untilGone({ stableMs: 2_000 });
      await untouched();
      assert.equal((await world.refit("uninstall", "--check")).code, 0);
    });
    await world.step("uninstalled: definitions and webhooks are gone, pods are not", async () => {
      await installation.stop();
      const { code, stderr } = await world.refit("uninstall");
      assert.deepEqual([code, stderr], [0, ""]);
      await world.until("nothing is left", async () => {
        assert.deepEqual(await installedObjects(world), []);
      });
      await untouched();
    });
    await world.step("pods are deleted and created as if nothing had been installed", async () => {
      const [first] = before;
      assert.ok(first);
      await world.remove("pods", first.metadata.name);
      const spec = nodes.podSpec("app:1");
      await world.apply({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "later", labels: nodes.labels },
        spec,
      });
      await world.until("the new pod runs", async () => {
        const { status } = await world.api.get("pods", "later", world.namespace);
        assert.equal(status?.phase, "Running");
      });
    });
  },
};

/** Names of what an installation makes where no namespace ends. */
async function installedObjects({ api }: World): Promise<string[]> {
  const definitions = await api.list("customresourcedefinitions");
  const configurations = await Promise.all([
    api.find("mutatingwebhookconfigurations", configurationNames.mutatingwebhookconfigurations),
    api.find("validatingwebhookconfigurations", configurationNames.validatingwebhookconfigurations),
  ]);
  const roles = await api.list("clusterroles.v1.rbac.authorization.k8s.io");
  return [
    ...definitions.map(({ metadata }) => metadata.name).filter((one) => one.endsWith(`.${group}`)),
    ...configurations.flatMap((one) => one?.metadata.name ?? []),
    ...roles.map(({ metadata }) => metadata.name).filter((one) => one.includes("kruise")),
  ].sort();
}
