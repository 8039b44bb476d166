/** Liveness probes that admission moves and the node agent runs. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { isRecord } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { container, sleeper } from "./manifests.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "m03",
  title: "Enhanced liveness probe",
  needs: ["agent"],
  gates: "EnhancedLivenessProbe=true",
  versions: ["v1beta1"],
  async run(world) {
    const clone = new CloneSet(world, "alive");
    await world.step("the probe moves into an annotation", () => moved(clone));
    if (world.simulated) world.skip("a container that fails it is restarted", "needs real-node");
    else await world.step("a container that fails it is restarted", () => restarted(clone));
  },
};

const livenessProbe = {
  exec: { command: ["test", "!", "-f", "/tmp/dead"] },
  periodSeconds: 1,
  timeoutSeconds: 10,
  failureThreshold: 2,
};

async function moved(clone: CloneSet): Promise<void> {
  const containers = [container("main", "nginx:1.20", { livenessProbe }), sleeper("side", "busybox:1.33")];
  const templateMetadata = { annotations: { "apps.kruise.io/using-enhanced-liveness": "true" } };
  await clone.create({ containers, templateMetadata });
  const [pod] = await clone.untilAll(1);
  assert.deepEqual(
    pod?.spec?.containers?.map((one) => Object(one).livenessProbe),
    [undefined, undefined],
  );
  const context: unknown = JSON.parse(
    pod?.metadata.annotations?.["apps.kruise.io/container-probe-context"] ?? "",
  );
  assert.ok(Array.isArray(context) && context.length === 1 && isRecord(context[0]));
  assert.equal(context[0]["name"], "main");
  assert.deepEqual(Object(context[0]["livenessProbe"]).exec, livenessProbe.exec);
}

async function restarted(clone: CloneSet): Promise<void> {
  const { world } = clone;
  const [pod] = await clone.livePods();
  const { name = "", uid } = pod?.metadata ?? {};
  const words = ["--kubeconfig", world.kubeconfig, "-n", world.namespace, "exec", name, "-c", "main", "--"];
  await new Promise<void>((resolve, reject) => {
    const done = (error: Error | null): void => (error ? reject(error) : resolve());
    execFile("kubectl", [...words, "touch", "/tmp/dead"], { timeout: 30_000 }, done);
  });
  await world.until("one restart, and no more", async () => {
    const now = await world.pod(name);
    assert.equal(now.metadata.uid, uid);
    const counts = now.status?.containerStatuses?.map(
      (one) => `${one.name} ${one.restartCount} ${one.ready}`,
    );
    assert.deepEqual(counts, ["main 1 true", "side 0 true"]);
  });
  await world.once("events of each kind", async () => {
    const reasons = (await world.events("Pod", name)).filter(
      ({ source }) => source === "kruise-daemon-liveness",
    );
    assert.deepEqual([...new Set(reasons.map(({ reason }) => reason))].sort(), ["Killing", "Unhealthy"]);
  });
}
