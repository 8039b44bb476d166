import assert from "node:assert/strict";
import { type Item, isRecord } from "../cluster/api.ts";
import { cloneSet, container, sleeper } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { Moment } from "./trail.ts";
import type { World } from "./world.ts";

const completed = "apps.kruise.io/container-launch-priority-completed";

export const suite: Suite = {
  number: "46",
  title: "Container launch priority",
  needs: [],
  async run(world) {
    await orderedSteps(world);
    await weightedSteps(world);
    await sameNameAgain(world);
    await anothersBarrier(world);
    await world.step("3 equal priorities change nothing, text is refused", async () => {
      const priority = (value: string) => ({ env: [{ name: "KRUISE_CONTAINER_PRIORITY", value }] });
      const pod = await world.apply(
        podOf("equal", [
          sleeper("a", "busybox:1.34", priority("3")),
          sleeper("b", "busybox:1.34", priority("3")),
        ]),
      );
      assert.deepEqual(pod.spec?.containers?.map(barrierKey), [undefined, undefined]);
      await untilReady(world, "equal");
      assert.equal(await barrierOf(world, "equal"), undefined);
      const text = await world.refused(
        () =>
          world.apply(
            podOf("text-priority", [
              sleeper("a", "busybox:1.34", priority("abc")),
              sleeper("b", "busybox:1.34"),
            ]),
          ),
        500,
      );
      assert.match(text, /strconv\.Atoi: parsing "abc": invalid syntax/);
    });
    await world.step("4 the ConfigMap goes with its pod", async () => {
      await world.remove("pods", "ordered");
      await world.until("no ConfigMap", async () =>
        assert.equal(await barrierOf(world, "ordered"), undefined),
      );
    });
  },
};

async function orderedSteps(world: World): Promise<void> {
  const sleep = world.seconds(8, 2);
  const pods = await world.trail("pods");
  const maps = await world.trail("configmaps");
  await world.step("1 in the order of the list", async () => {
    const readinessProbe = { exec: { command: ["test", "-f", "/tmp/ok"] }, periodSeconds: 1 };
    const command = ["sh", "-c", `sleep ${sleep}; touch /tmp/ok; sleep 86400`];
    const containers = [
      container("first", "busybox:1.34", { command, readinessProbe }),
      sleeper("second", "busybox:1.34"),
      sleeper("third", "busybox:1.34"),
    ];
    const created = await world.apply(
      podOf("ordered", containers, { "apps.kruise.io/container-launch-priority": "Ordered" }),
    );
    assert.deepEqual(created.spec?.containers?.map(barrierKey), ["p_0", "p_-1", "p_-2"]);
    assert.deepEqual(created.spec?.containers?.map(barrierMap), Array(3).fill("ordered-barrier"));
    await untilReady(world, "ordered");
  });
  await world.step("1 each after the former is ready", async () => {
    const pod = await world.api.get("pods", "ordered", world.namespace);
    assert.equal(pod.metadata.annotations?.[completed], "true");
    assert.deepEqual(
      pod.status?.containerStatuses?.map(({ restartCount }) => restartCount),
      [0, 0, 0],
    );
    const seen = momentsOf(await pods.stop(), "ordered");
    assertStartsAfterReady(seen, "second", "first");
    assertStartsAfterReady(seen, "third", "second");
    assert.ok(startOf(pod, "second") - startOf(pod, "first") >= sleep * 1000);
    const waited = seen.some(({ object }) => waitingReason(object, "third") === "CreateContainerConfigError");
    assert.ok(waited, "no moment with CreateContainerConfigError");
  });
  await world.step("1 the keys came one by one", async () => {
    const seen = momentsOf(await maps.stop(), "ordered-barrier");
    assert.deepEqual(distinctKeys(seen), ["p_0", "p_-1,p_0", "p_-1,p_-2,p_0"]);
    const map = await barrierOf(world, "ordered");
    const pod = await world.api.get("pods", "ordered", world.namespace);
    const [owner] = map?.metadata.ownerReferences ?? [];
    assert.deepEqual([owner?.kind, owner?.name, owner?.uid], ["Pod", "ordered", pod.metadata.uid]);
    assert.deepEqual(map?.data, { p_0: "true", "p_-1": "true", "p_-2": "true" });
  });
}

async function weightedSteps(world: World): Promise<void> {
  const pods = await world.trail("pods", "case=weighted");
  await world.step("2 by number, in pods of a CloneSet", async () => {
    const env = [{ name: "KRUISE_CONTAINER_PRIORITY", value: "10" }];
    const containers = [container("main", "nginx:1.20"), sleeper("dependency", "busybox:1.34", { env })];
    await world.apply(cloneSet(world.version, { name: "weighted", containers }));
    const [pod] = await world.untilAll("weighted", 1, { timeoutMs: 90_000 });
    const name = pod?.metadata.name ?? "";
    assert.deepEqual(pod?.spec?.containers?.map(barrierKey), ["p_0", "p_10"]);
    assert.deepEqual(pod?.spec?.containers?.map(barrierMap), Array(2).fill(`${name}-barrier`));
    assert.equal(pod?.metadata.annotations?.[completed], "true");
    assertStartsAfterReady(momentsOf(await pods.stop(), name), "main", "dependency");
    assert.deepEqual((await barrierOf(world, name))?.data, { p_10: "true", p_0: "true" });
  });
  await world.step("2 in pods of others, too", async () => {
    await world.apply({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "native" },
      spec: {
        replicas: 1,
        selector: { matchLabels: { case: "native" } },
        template: {
          metadata: { labels: { case: "native" } },
          spec: {
            terminationGracePeriodSeconds: 1,
            containers: [
              sleeper("main", "busybox:1.34"),
              sleeper("early", "busybox:1.34", { env: [{ name: "KRUISE_CONTAINER_PRIORITY", value: "1" }] }),
            ],
          },
        },
      },
    });
    await world.until(
      "the pod of the Deployment is ready",
      async () => {
        const [pod] = await world.list("pods", "case=native");
        assert.equal(isReady(pod), true);
        assert.equal(pod?.metadata.annotations?.[completed], "true");
      },
      { timeoutMs: 90_000 },
    );
  });
}

/** The ConfigMap of a former pod, with all its keys, must not let the next pod of its name start at once. */
async function sameNameAgain(world: World): Promise<void> {
  await world.step("a pod of the same name starts level by level again", async () => {
    const readinessProbe = { exec: { command: ["test", "-f", "/tmp/ok"] }, periodSeconds: 1 };
    const command = ["sh", "-c", "sleep 2; touch /tmp/ok; sleep 86400"];
    const env = [{ name: "KRUISE_CONTAINER_PRIORITY", value: "1" }];
    const containers = [
      sleeper("main", "busybox:1.34"),
      container("early", "busybox:1.34", { command, readinessProbe, env }),
    ];
    await world.apply({
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "again" },
      spec: {
        replicas: 1,
        serviceName: "again",
        selector: { matchLabels: { case: "again" } },
        template: {
          metadata: { labels: { case: "again" } },
          spec: { terminationGracePeriodSeconds: 1, containers },
        },
      },
    });
    await untilReady(world, "again-0");
    const former = await world.api.get("pods", "again-0", world.namespace);
    const trail = await world.trail("pods", "case=again");
    await world.remove("pods", "again-0");
    await world.until(
      "the next one is ready",
      async () => {
        const pod = await world.api.get("pods", "again-0", world.namespace);
        assert.notEqual(pod.metadata.uid, former.metadata.uid);
        assert.equal(isReady(pod), true);
        const owners = (await barrierOf(world, "again-0"))?.metadata.ownerReferences;
        assert.deepEqual(
          owners?.map(({ uid }) => uid),
          [pod.metadata.uid],
        );
      },
      { timeoutMs: 90_000 },
    );
    const seen = momentsOf(await trail.stop(), "again-0");
    const next = seen.filter(({ object }) => object.metadata.uid !== former.metadata.uid);
    assertStartsAfterReady(next, "main", "early");
  });
}

/** What is there already under the name of the ConfigMap belongs to somebody who did not ask for keys. */
async function anothersBarrier(world: World): Promise<void> {
  await world.step(
    "a ConfigMap that is not the pod's is left alone, and the pod says why it waits",
    async () => {
      const held = await world.apply({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "held-barrier" },
        data: { mine: "1" },
      });
      const containers = [sleeper("first", "busybox:1.34"), sleeper("second", "busybox:1.34")];
      await world.apply(podOf("held", containers, { "apps.kruise.io/container-launch-priority": "Ordered" }));
      await world.until("the pod says so", async () => {
        const [event] = await world.events("Pod", "held", "BarrierNotOwned");
        assert.match(event?.message ?? "", /ConfigMap held-barrier/);
      });
      const waiting = await world.api.get("pods", "held", world.namespace);
      assert.equal(waiting.status?.containerStatuses?.some(({ ready }) => ready) ?? false, false);
      assert.deepEqual((await barrierOf(world, "held"))?.data, { mine: "1" });
      assert.equal((await barrierOf(world, "held"))?.metadata.resourceVersion, held.metadata.resourceVersion);
      await world.remove("configmaps", "held-barrier");
      await untilReady(world, "held");
    },
  );
}

function podOf(name: string, containers: object[], annotations: Record<string, string> = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, annotations },
    spec: { terminationGracePeriodSeconds: 1, containers },
  };
}

async function untilReady(world: World, name: string): Promise<void> {
  const probe = async () => assert.equal(isReady(await world.api.get("pods", name, world.namespace)), true);
  await world.until(`${name} is ready`, probe, { timeoutMs: 90_000 });
}

function isReady(pod: Item | undefined): boolean {
  return (
    pod?.status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ??
    false
  );
}

async function barrierOf(world: World, pod: string): Promise<Item | undefined> {
  return (await world.list("configmaps")).find(({ metadata }) => metadata.name === `${pod}-barrier`);
}

function barrierRef(of: object): Record<string, unknown> | undefined {
  const env: unknown = "env" in of ? of.env : undefined;
  const last: unknown = Array.isArray(env) ? env.at(-1) : undefined;
  if (!isRecord(last) || last["name"] !== "KRUISE_CONTAINER_BARRIER" || !isRecord(last["valueFrom"]))
    return undefined;
  const reference = last["valueFrom"]["configMapKeyRef"];
  return isRecord(reference) ? reference : undefined;
}

function barrierKey(of: object): unknown {
  return barrierRef(of)?.["key"];
}

function barrierMap(of: object): unknown {
  return barrierRef(of)?.["name"];
}

function momentsOf(moments: readonly Moment[], name: string): Moment[] {
  return moments.filter(({ object, type }) => object.metadata.name === name && type !== "DELETED");
}

/** At the first moment that shows `later` with a container, `earlier` was ready in that moment or before. */
function assertStartsAfterReady(moments: readonly Moment[], later: string, earlier: string): void {
  const statusIn = ({ object }: Moment, name: string) =>
    object.status?.containerStatuses?.find((status) => status.name === name);
  const started = moments.findIndex((moment) => Boolean(statusIn(moment, later)?.containerID));
  assert.ok(started >= 0, `${later} never started`);
  const ready = moments.slice(0, started + 1).some((moment) => statusIn(moment, earlier)?.ready === true);
  assert.ok(ready, `${later} started before ${earlier} was ready`);
}

function waitingReason(pod: Item, name: string): unknown {
  const state: unknown = pod.status?.containerStatuses?.find((status) => status.name === name)?.state;
  const waiting = isRecord(state) ? state["waiting"] : undefined;
  return isRecord(waiting) ? waiting["reason"] : undefined;
}

function startOf(pod: Item, name: string): number {
  const status = pod.status?.containerStatuses?.find((entry) => entry.name === name);
  return Date.parse(status?.state?.running?.startedAt ?? "");
}

function distinctKeys(moments: readonly Moment[]): string[] {
  const all = moments.map(({ object }) =>
    Object.keys(isRecord(object.data) ? object.data : {})
      .sort()
      .join(),
  );
  return all.filter((keys, index) => keys !== all[index - 1]);
}
