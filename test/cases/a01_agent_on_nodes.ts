/** The node agent on real nodes, with the rights of its own account: pulls, restarts, and what it may not do. */
import assert from "node:assert/strict";
import { type Item, isRecord } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { container, podOf } from "./manifests.ts";
import { RecreateRequest } from "./recreate_requests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const nodeImages = "nodeimages.v1beta1.apps.kruise.io";

export const suite: Suite = {
  number: "a01",
  title: "the agent on real nodes",
  needs: ["agent", "real-node"],
  versions: ["v1beta1"],
  async run(world) {
    const node = (await world.api.list("nodes"))[0]?.metadata.name ?? "";
    await world.step("an image that a NodeImage asks for is pulled and reported", () => pulls(world, node));
    await world.step("the pull is reported as an event of the NodeImage", async () => {
      await world.until("PullImageSucceed", async () => {
        const events = await world.api.list("events", "default");
        const reported = events.filter((event) => event["reason"] === "PullImageSucceed").map(objectOf);
        assert.ok(reported.includes(`NodeImage ${node}`), reported.join(", "));
      });
    });
    await world.step("a container is recreated in place", () => restarts(world));
    await world.step("the container's meta is written for the controller", async () => {
      const clone = new CloneSet(world, "reported");
      await clone.create({ containers: [container("web", "nginx:1.21")] });
      await world.until("meta", async () => {
        const [found] = await clone.pods();
        const text = found?.metadata.annotations?.["apps.kruise.io/runtime-containers-meta"];
        const meta: unknown = JSON.parse(text ?? "{}");
        assert.ok(isRecord(meta) && Array.isArray(meta["containers"]) && meta["containers"].length === 1);
      });
    });
  },
};

async function pulls(world: World, node: string): Promise<void> {
  const tag = {
    tag: "1.33",
    version: 0,
    createdAt: new Date().toISOString().replace(/\.\d+/, ""),
    imagePullPolicy: "Always",
    pullPolicy: { timeoutSeconds: 60, backoffLimit: 1, ttlSecondsAfterFinished: 600 },
  };
  await world.apply({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "NodeImage",
    metadata: { name: node },
    spec: { images: { busybox: { tags: [tag] } } },
  });
  await world.until("Succeeded", async () => {
    const { status } = await world.api.get(nodeImages, node);
    const images = isRecord(status) && isRecord(status["imageStatuses"]) ? status["imageStatuses"] : {};
    const image = isRecord(images["busybox"]) ? images["busybox"]["tags"] : [];
    assert.ok(Array.isArray(image) && isRecord(image[0]));
    assert.equal(image[0]["phase"], "Succeeded");
    assert.match(String(image[0]["imageID"]), /^busybox@sha256:[0-9a-f]{64}$/);
  });
}

async function restarts(world: World): Promise<void> {
  await world.apply(podOf("recreated", { containers: [container("web", "nginx:1.21")] }));
  const running = async (restarts: number) => {
    const status = (await world.pod("recreated")).status?.containerStatuses?.[0];
    assert.deepEqual([status?.ready, status?.restartCount], [true, restarts]);
  };
  await world.once("ready", () => running(0));
  const again = new RecreateRequest(world, "again");
  const strategy = { failurePolicy: "Fail" };
  await again.create({ podName: "recreated", containers: [{ name: "web" }], strategy });
  await world.until("recreated once", () => running(1));
  assert.equal((await again.status()).phase, "Completed");
}

function objectOf(event: Item): string {
  const about = event["involvedObject"];
  return isRecord(about) ? `${about["kind"]} ${about["name"]}` : "";
}
