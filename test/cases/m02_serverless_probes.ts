/** Pods on nodes without an agent: probes travel in annotations, results come back as conditions, images end sidecars. */
import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { nameOf } from "./items.ts";
import { container } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const markers = "podprobemarkers.v1alpha1.apps.kruise.io";
const nodeProbes = "nodepodprobes.v1alpha1.apps.kruise.io";
const node = "virtual";

export const suite: Suite = {
  number: "m02",
  title: "Probes and sidecars of pods on virtual nodes",
  // It brings a node of its own, which would be in the way of other suites.
  needs: ["own-controller"],
  versions: ["v1alpha1"],
  async run(world) {
    await world.startController({ gates: "EnablePodProbeMarkerOnServerless=true,SidecarTerminator=true" });
    await world.api.create(virtualNode);
    try {
      await world.step("probes are handed over at creation", () => handedOver(world));
      await world.step("labels follow the conditions that the provider writes", () => marked(world));
      await world.step("no request but an image ends a sidecar there", () => sidecars(world));
    } finally {
      await world.api.remove("nodes", node);
    }
  },
};

const virtualNode = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: node, labels: { type: "virtual-kubelet", "sandbox.refit.dev/hollow": "false" } },
  spec: { taints: [{ key: "virtual", effect: "NoSchedule" }] },
};

const probe = { exec: { command: ["true"] } };

async function handedOver(world: World): Promise<void> {
  await world.apply({
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "PodProbeMarker",
    metadata: { name: "healthy" },
    spec: {
      selector: { matchLabels: { case: "serverless" } },
      probes: [
        {
          name: "healthy",
          containerName: "main",
          podConditionType: "case.example/healthy",
          probe,
          markerPolicy: [
            { state: "Succeeded", labels: { healthy: "yes" } },
            { state: "Failed", labels: { healthy: "no" }, annotations: { told: "yes" } },
          ],
        },
      ],
    },
  });
  await world.until("admission knows the marker", async () => {
    await world.apply(pod("probed", {}));
    const { metadata } = await world.pod("probed");
    if (metadata.annotations?.["kruise.io/podprobe"] === undefined) await world.remove("pods", "probed");
    assert.equal(metadata.annotations?.["kruise.io/podprobemarker-list"], "healthy");
    const handed: unknown = JSON.parse(metadata.annotations?.["kruise.io/podprobe"] ?? "");
    const wanted = {
      name: "healthy",
      containerName: "main",
      probe,
      podConditionType: "case.example/healthy",
    };
    assert.deepEqual(handed, [wanted]);
  });
}

async function marked(world: World): Promise<void> {
  const after = async (status: string, labels: string, told: string | undefined) => {
    await setStatus(world, "probed", {
      conditions: [condition("Initialized", "True"), condition("case.example/healthy", status)],
    });
    await world.until(`${status} gives ${labels}`, async () => {
      const { metadata } = await world.pod("probed");
      assert.deepEqual([metadata.labels?.["healthy"], metadata.annotations?.["told"]], [labels, told]);
    });
  };
  await after("False", "no", "yes");
  await after("True", "yes", "yes");
  const { status } = await world.object(markers, "healthy");
  assert.equal(status?.["matchedPods"], 1);
  const names = (await world.api.list(nodeProbes)).map(nameOf);
  assert.ok(names.length > 0 && !names.includes(node), names.join(", "));
}

async function sidecars(world: World): Promise<void> {
  const env = [{ name: "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT_WITH_IMAGE", value: "busybox:exits" }];
  const containers = [container("main", "busybox:1.33"), container("side", "busybox:1.33", { env })];
  await world.apply(pod("job", { restartPolicy: "Never", containers }));
  const running = { name: "side", ready: true, restartCount: 0, image: "busybox:1.33", imageID: "x" };
  await setStatus(world, "job", {
    phase: "Running",
    containerStatuses: [
      { ...running, name: "main", ready: false, state: { terminated: { exitCode: 0 } } },
      { ...running, state: { running: {} } },
    ],
  });
  await world.until("the image is replaced", async () => {
    const { spec } = await world.pod("job");
    assert.deepEqual(
      spec?.containers?.map(({ image }) => image),
      ["busybox:1.33", "busybox:exits"],
    );
    assert.deepEqual(await world.list("containerrecreaterequests.v1beta1.apps.kruise.io"), []);
    const events = await world.events("Pod", "job", "SidecarTerminator");
    assert.deepEqual(
      events.map(({ message }) => message),
      ["Kruise SidecarTerminator is trying to terminate sidecar [side] using in-place update"],
    );
  });
}

function pod(name: string, spec: object): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { case: "serverless" } },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 0,
      containers: [container("main", "nginx:1.20")],
      tolerations: [{ operator: "Exists" }],
      ...spec,
    },
  };
}

function condition(type: string, status: string): object {
  return { type, status, lastTransitionTime: "2026-01-01T00:00:00Z" };
}

function setStatus(world: World, name: string, status: object): Promise<Item> {
  return world.patch("pods", name, "strategic", { status }, "status");
}
