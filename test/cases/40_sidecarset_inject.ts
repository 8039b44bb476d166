import assert from "node:assert/strict";
import { type Item, isRecord } from "../cluster/api.ts";
import { container } from "./manifests.ts";
import { readyOf, Sidecars } from "./sidecar_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

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
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app } },
    spec: { terminationGracePeriodSeconds: 1, containers: [container("app", "nginx:1.20")] },
  };
}

const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: "nginx" } },
    template: {
      metadata: { labels: { app: "nginx" } },
      spec: { terminationGracePeriodSeconds: 1, containers: [container("app", "nginx:1.20")] },
    },
  },
};

export const suite: Suite = {
  number: "40",
  title: "SidecarSet: injection",
  needs: [],
  async run(world) {
    const set = new Sidecars(world, "test-sidecarset");
    const get = (name: string) => world.api.get("pods", name, world.namespace);
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
        assert.equal((await set.get()).status?.["observedGeneration"], 1);
      });
      await world.step("3 pods of a Deployment, whose template stays", async () => {
        await world.apply(deployment);
        await set.untilRow("2 2 2");
        const [made] = await podsOfDeployment(world);
        assert.ok(made !== undefined);
        assert.equal(readyOf(made), "3/3");
        const stored = await world.api.get("deployments.v1.apps", "web", world.namespace);
        assert.equal(stored.spec?.template?.spec?.containers?.length, 1);
      });
      await world.step("4 the field of early releases is not stored", async () => {
        const patched = await set.patch("merge", {
          spec: { strategy: { rollingUpdate: { maxUnavailable: 5 } } },
        });
        const { strategy, updateStrategy } = {
          strategy: undefined,
          updateStrategy: undefined,
          ...patched.spec,
        };
        assert.equal(strategy, undefined);
        assert.ok(isRecord(updateStrategy));
        assert.equal(updateStrategy["maxUnavailable"], 2);
      });
      await world.step("5 paused injection leaves new pods alone", async () => {
        await set.patch("merge", { spec: { injectionStrategy: { paused: true } } });
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
        await world.until("a pod without sidecars", untouched, { stableMs: 0 });
        await set.untilRow("2 2 2");
      });
    });
    await world.step("6 pods keep their sidecars", async () => {
      await world.stays(async () => assert.equal(readyOf(await get("test-pod")), "3/3"), 5_000);
    });
  },
};

async function podsOfDeployment(world: World): Promise<Item[]> {
  const pods = await world.list("pods", "app=nginx");
  return pods.filter(({ metadata }) => metadata.ownerReferences?.some(({ kind }) => kind === "ReplicaSet"));
}

async function checkInjected({ name }: Sidecars, pod: Item): Promise<void> {
  assert.equal(readyOf(pod), "3/3");
  const {
    containers = [],
    initContainers = [],
    volumes = [],
  } = {
    initContainers: undefined,
    volumes: undefined,
    ...pod.spec,
  };
  assert.deepEqual(
    containers.map((one) => one.name),
    ["sidecar1", "app", "sidecar2"],
  );
  assert.deepEqual(namesOf(initContainers), ["prepare"]);
  assert.ok(namesOf(volumes).includes("log-volume"));
  assert.ok(!namesOf(volumes).includes("unused-volume"));
  const [first] = containers;
  assert.ok(JSON.stringify(first).includes('"/var/log"'));
  for (const one of containers) {
    const isInjected = JSON.stringify(one).includes('"IS_INJECTED"');
    assert.equal(isInjected, one.name !== "app", one.name);
  }
  const { annotations = {} } = pod.metadata;
  assert.equal(annotations["kruise.io/sidecarset-injected-list"], name);
  for (const key of ["kruise.io/sidecarset-hash", "kruise.io/sidecarset-hash-without-image"]) {
    const entry: unknown = JSON.parse(annotations[key] ?? "")[name];
    assert.ok(isRecord(entry), key);
    assert.deepEqual(entry["sidecarList"], ["sidecar1", "sidecar2"]);
  }
}

function namesOf(items: unknown): unknown[] {
  return Array.isArray(items) ? items.map((item) => (isRecord(item) ? item["name"] : undefined)) : [];
}

function checkUntouched({ metadata, spec }: Item): void {
  assert.equal(spec?.containers?.length, 1, metadata.name);
  const keys = Object.keys(metadata.annotations ?? {});
  assert.deepEqual(
    keys.filter((key) => key.startsWith("kruise.io/sidecarset")),
    [],
  );
}
