import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { firstOf, member, records } from "./items.ts";
import { container, nativeWorkload, podOf } from "./manifests.ts";
import { readyOf, Sidecars } from "./sidecar_sets.ts";
import type { Suite } from "./suite.ts";

const sleeping = (name: string, more: object = {}) =>
  container(name, "busybox:1.32", { command: ["sleep", "999d"], ...more });

const spec = {
  selector: { matchLabels: { app: "nginx" } },
  updateStrategy: { type: "RollingUpdate", maxUnavailable: 2 },
  initContainers: [container("prepare", "busybox:1.32", { command: ["true"] })],
  containers: [
    sleeping("sidecar1", { volumeMounts: [{ name: "log-volume", mountPath: "/var/log" }] }),
    sleeping("sidecar2", { podInjectPolicy: "AfterAppContainer" }),
  ],
  volumes: [
    { name: "log-volume", emptyDir: {} },
    { name: "unused-volume", emptyDir: {} },
  ],
};

function pod(name: string, app: string): object {
  return podOf(name, { labels: { app } });
}

const deployment = nativeWorkload("apps/v1", "Deployment", "web", {
  labels: { app: "nginx" },
  more: { replicas: 1 },
});

export const suite: Suite = {
  number: "40",
  title: "SidecarSet: injection",
  needs: [],
  async run(world) {
    const set = new Sidecars(world, "test-sidecarset");
    const get = world.pod.bind(world);
    await world.step("1 a pod from before", async () => {
      await world.apply(pod("before-pod", "nginx"));
      await world.until("it runs", async () => assert.equal(readyOf(await get("before-pod")), "1/1"));
    });
    await set.during(spec, async () => {
      await world.step("2 pods that are created get the sidecars", async () => {
        await world.apply(pod("test-pod", "nginx"));
        await world.apply(pod("other-pod", "other"));
        await set.untilRow("1 1 1");
        await checkInjected(set, await get("test-pod"));
        for (const name of ["other-pod", "before-pod"]) checkUntouched(await get(name));
        assert.equal((await set.status()).observedGeneration, 1);
      });
      await world.step("3 pods of a Deployment, whose template stays", async () => {
        await world.apply(deployment);
        await set.untilRow("2 2 2");
        const isOfDeployment = ({ metadata }: Item) => metadata.ownerReferences?.[0]?.kind === "ReplicaSet";
        const made = (await world.list("pods", "app=nginx")).filter(isOfDeployment);
        assert.equal(readyOf(firstOf(made)), "3/3");
        const stored = await world.object("deployments.v1.apps", "web");
        assert.equal(stored.spec?.template?.spec?.containers?.length, 1);
      });
      await world.step("4 the field of early releases is not stored", async () => {
        const { spec } = await set.mergeSpec({ strategy: { rollingUpdate: { maxUnavailable: 5 } } });
        assert.equal(spec?.["strategy"], undefined);
        assert.equal(spec?.updateStrategy?.["maxUnavailable"], 2);
      });
      await world.step("5 paused injection leaves new pods alone", async () => {
        await set.mergeSpec({ injectionStrategy: { paused: true } });
        let tries = 0;
        const untouched = async () => {
          const name = `paused-pod-${tries++}`;
          await world.apply(pod(name, "nginx"));
          try {
            checkUntouched(await get(name));
          } catch (error) {
            await world.remove("pods", name);
            throw error;
          }
        };
        // Webhooks of another replica hear of it by their watch.
        await world.once("a pod without sidecars", untouched);
        await set.untilRow("2 2 2");
      });
    });
    await world.step("6 pods keep their sidecars", async () => {
      await world.stays(async () => assert.equal(readyOf(await get("test-pod")), "3/3"), 5_000);
    });
  },
};

async function checkInjected({ name }: Sidecars, pod: Item): Promise<void> {
  assert.equal(readyOf(pod), "3/3");
  const { containers = [], ...spec } = pod.spec ?? {};
  assert.deepEqual(namesOf(containers), ["sidecar1", "app", "sidecar2"]);
  assert.deepEqual(namesOf(spec["initContainers"]), ["prepare"]);
  const volumes = namesOf(spec["volumes"]);
  assert.ok(volumes.includes("log-volume") && !volumes.includes("unused-volume"), volumes.join());
  assert.ok(JSON.stringify(containers[0]).includes('"/var/log"'));
  for (const one of containers) {
    const isInjected = JSON.stringify(one).includes('"IS_INJECTED"');
    assert.equal(isInjected, one.name !== "app", one.name);
  }
  const { annotations = {} } = pod.metadata;
  assert.equal(annotations["kruise.io/sidecarset-injected-list"], name);
  for (const key of ["kruise.io/sidecarset-hash", "kruise.io/sidecarset-hash-without-image"]) {
    const entry = member(JSON.parse(annotations[key] ?? ""), name);
    assert.deepEqual(entry?.["sidecarList"], ["sidecar1", "sidecar2"], key);
  }
}

function namesOf(items: unknown): unknown[] {
  return records(items).map(({ name }) => name);
}

function checkUntouched({ metadata, spec }: Item): void {
  assert.equal(spec?.containers?.length, 1, metadata.name);
  const keys = Object.keys(metadata.annotations ?? {});
  const ofSets = keys.filter((key) => key.startsWith("kruise.io/sidecarset"));
  assert.deepEqual(ofSets, []);
}
