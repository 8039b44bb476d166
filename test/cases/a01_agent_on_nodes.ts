/** The node agent on real nodes, with the rights of its own account: pulls, restarts, and what it may not do. */
import assert from "node:assert/strict";
import { type Item, isRecord } from "../cluster/api.ts";
import { cloneSet, container } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const nodeImages = "nodeimages.v1beta1.apps.kruise.io";
const requests = "containerrecreaterequests.v1beta1.apps.kruise.io";

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
      await world.apply(
        cloneSet(world.version, { name: "reported", containers: [container("web", "nginx:1.21")] }),
      );
      await world.until("meta", async () => {
        const [found] = await world.podsOf("reported");
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
  await world.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "recreated" },
    spec: { containers: [container("web", "nginx:1.21")] },
  });
  const running = async (restarts: number): Promise<Item> => {
    const found = await world.api.get("pods", "recreated", world.namespace);
    const status = found.status?.containerStatuses?.[0];
    assert.equal(status?.ready, true);
    assert.equal(status?.restartCount, restarts);
    return found;
  };
  await world.until("ready", async () => void (await running(0)), { stableMs: 0 });
  const before = await running(0);
  await world.apply({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ContainerRecreateRequest",
    metadata: { name: "again" },
    spec: {
      podName: "recreated",
      containers: [{ name: before.spec?.containers?.[0]?.name }],
      strategy: { failurePolicy: "Fail" },
    },
  });
  await world.until("recreated once", async () => void (await running(1)));
  const { status } = await world.api.get(requests, "again", world.namespace);
  assert.equal(isRecord(status) && status["phase"], "Completed");
}

function objectOf(event: Item): string {
  const about = event["involvedObject"];
  return isRecord(about) ? `${about["kind"]} ${about["name"]}` : "";
}
