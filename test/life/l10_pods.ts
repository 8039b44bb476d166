import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { writeNodeBase } from "../../testkit/bundles/node_base_fixture.ts";
import { freePorts, portAt } from "../../testkit/cli/free_ports.ts";
import { helm } from "../../testkit/cli/helm_fixture.ts";
import { isReady } from "../cases/trail.ts";
import type { World } from "../cases/world.ts";
import { removeInstallation, systemNamespace } from "./installation.ts";
import type { Life, LifeSuite } from "./suite.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..", "..");
const release = "refit";
/** Pods, updates in place, and restarts by the agent. */
const cases = ["06", "08", "47"];

/** Images of what ships run as pods, put there by the chart: two replicas of the controller, and the agent on the node. */
export const podsSuite: LifeSuite = {
  number: "l10",
  title: "Images as pods, installed by the chart",
  needs: ["own-controller", "real-node"],
  versions: ["v1beta1"],
  async run(world, { cluster, runCases, print }) {
    const scratch = mkdtempSync(join(tmpdir(), "refit-images-"));
    const call = async (...words: string[]) => {
      const { code, stdout, stderr } = await helm(scratch, ...words, "--kubeconfig", world.kubeconfig);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    try {
      await world.step("what another way of installing has left is removed", () => removeInstallation(world));
      await world.step("images are made of a base with Node, and pushed", async () => {
        await pushImages(cluster, scratch);
      });
      await world.step("helm install: two replicas and an agent are ready", async () => {
        const values = join(scratch, "values.yaml");
        writeFileSync(values, JSON.stringify(await valuesFor(cluster)));
        const begun = performance.now();
        await call("install", release, join(root, "bundles/chart"), "--values", values);
        await untilReady(world);
        print(`figures: ready ${((performance.now() - begun) / 1000).toFixed(1)} s after helm install`);
      });
      await runCases(cases);
      await world.step("the leader's pod is deleted: another leads", async () => {
        const former = await leaderPod(world);
        await world.api.remove("pods", former, systemNamespace);
        await world.until("another leads", async () => assert.notEqual(await leaderPod(world), former), {
          stableMs: 0,
        });
        await untilReady(world);
      });
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  },
};

async function pushImages(cluster: Life["cluster"], scratch: string): Promise<void> {
  const base = join(scratch, "base");
  writeNodeBase(base, "node", process.execPath);
  const images = join(scratch, "images");
  const program = join(root, "bundles/images.ts");
  await run(process.execPath, [program, "--node-base", `oci:${base}:node`, "--out", images], { cwd: root });
  for (const image of ["controller", "agent"]) await cluster.push(images, image, `refit/${image}:life`);
}

async function valuesFor({ nodes: [node] }: Life["cluster"]): Promise<object> {
  assert.ok(node, "a node");
  return {
    manager: { image: { repository: "refit/controller", tag: "life" } },
    daemon: {
      image: { repository: "refit/agent", tag: "life" },
      // On this machine folders and ports of the node are those of the harness.
      socketLocation: node.folder,
      port: portAt(await freePorts(1), 0),
    },
  };
}

const controllerPods = (world: World) =>
  world.api.list("pods", systemNamespace, "control-plane=controller-manager");

async function untilReady(world: World): Promise<void> {
  await world.until(
    "two replicas and an agent are ready",
    async () => {
      const agents = await world.api.list("pods", systemNamespace, "control-plane=daemon");
      const pods = [...(await controllerPods(world)), ...agents];
      assert.equal(agents.length, 1, "agents");
      assert.equal(pods.length, 3, "pods");
      for (const pod of pods) {
        assert.ok(isReady(pod), `${pod.metadata.name}: ${JSON.stringify(pod.status?.containerStatuses)}`);
        assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 0, `restarts of ${pod.metadata.name}`);
      }
      assert.ok(await leaderPod(world));
    },
    { timeoutMs: 120_000, stableMs: 1_000 },
  );
}

/** Name of the pod that holds the Lease. */
async function leaderPod(world: World): Promise<string> {
  const lease = await world.api.get("leases", "kruise-manager", systemNamespace);
  const [name = ""] = String(lease.spec?.["holderIdentity"] ?? "").split("_");
  assert.notEqual(name, "", "nobody leads");
  return name;
}
