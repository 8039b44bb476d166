import assert from "node:assert/strict";
import type { Container, Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { firstOf, nameOf, ownerUidsOf, records, reportsReady, startOf, statusOf, uidOf } from "./items.ts";
import { configMap, container, nativeWorkload, podOf, sleeper } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { type Moment, momentsOf } from "./trail.ts";
import type { World } from "./world.ts";

const completed = "apps.kruise.io/container-launch-priority-completed";
const ordered = { "apps.kruise.io/container-launch-priority": "Ordered" };
const limitMs = 90_000;

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
      const equal = [
        sleeper("a", "busybox:1.34", priority("3")),
        sleeper("b", "busybox:1.34", priority("3")),
      ];
      const pod = await world.apply(podOf("equal", { containers: equal }));
      assert.deepEqual(pod.spec?.containers?.map(barrierKey), [undefined, undefined]);
      await world.untilReady("equal", limitMs);
      assert.equal(await barrierOf(world, "equal"), undefined);
      const text = [sleeper("a", "busybox:1.34", priority("abc")), sleeper("b", "busybox:1.34")];
      const send = () => world.apply(podOf("text-priority", { containers: text }));
      await world.refuses(500, send, 'strconv.Atoi: parsing "abc": invalid syntax');
    });
    await world.step("4 the ConfigMap goes with its pod", async () => {
      await world.remove("pods", "ordered");
      await world.until("no ConfigMap", async () =>
        assert.equal(await barrierOf(world, "ordered"), undefined),
      );
    });
  },
};

function priority(value: string): object {
  return { env: [{ name: "KRUISE_CONTAINER_PRIORITY", value }] };
}

/** A container that is ready so many seconds after its start. */
function readyAfter(name: string, seconds: number, more: object = {}): object {
  const readinessProbe = { exec: { command: ["test", "-f", "/tmp/ok"] }, periodSeconds: 1 };
  const command = ["sh", "-c", `sleep ${seconds}; touch /tmp/ok; sleep 86400`];
  return container(name, "busybox:1.34", { command, readinessProbe, ...more });
}

async function orderedSteps(world: World): Promise<void> {
  const sleep = world.seconds(8, 2);
  const pods = await world.trail("pods");
  const maps = await world.trail("configmaps");
  await world.step("1 in the order of the list", async () => {
    const others = [sleeper("second", "busybox:1.34"), sleeper("third", "busybox:1.34")];
    const containers = [readyAfter("first", sleep), ...others];
    const created = await world.apply(podOf("ordered", { containers, annotations: ordered }));
    assert.deepEqual(created.spec?.containers?.map(barrierKey), ["p_0", "p_-1", "p_-2"]);
    assert.deepEqual(created.spec?.containers?.map(barrierMap), Array(3).fill("ordered-barrier"));
    await world.untilReady("ordered", limitMs);
  });
  await world.step("1 each after the former is ready", async () => {
    const pod = await world.pod("ordered");
    assert.equal(pod.metadata.annotations?.[completed], "true");
    const restarts = pod.status?.containerStatuses?.map(({ restartCount }) => restartCount);
    assert.deepEqual(restarts, [0, 0, 0]);
    const seen = momentsOf(await pods.stop(), "ordered");
    assertStartsAfterReady(seen, "second", "first");
    assertStartsAfterReady(seen, "third", "second");
    assert.ok(startOf(pod, "second") - startOf(pod, "first") >= sleep * 1000);
    const waits = seen.map(({ object }) => statusOf(object, "third")?.state?.waiting?.reason);
    assert.ok(waits.includes("CreateContainerConfigError"), waits.join());
  });
  await world.step("1 the keys came one by one", async () => {
    const seen = momentsOf(await maps.stop(), "ordered-barrier");
    assert.deepEqual(distinctKeys(seen), ["p_0", "p_-1,p_0", "p_-1,p_-2,p_0"]);
    const map = await barrierOf(world, "ordered");
    const [owner] = map?.metadata.ownerReferences ?? [];
    const uid = uidOf(await world.pod("ordered"));
    assert.deepEqual([owner?.kind, owner?.name, owner?.uid], ["Pod", "ordered", uid]);
    assert.deepEqual(map?.data, { p_0: "true", "p_-1": "true", "p_-2": "true" });
  });
}

async function weightedSteps(world: World): Promise<void> {
  const weighted = new CloneSet(world, "weighted");
  const pods = await weighted.trail();
  await world.step("2 by number, in pods of a CloneSet", async () => {
    const dependency = sleeper("dependency", "busybox:1.34", priority("10"));
    const containers = [container("main", "nginx:1.20"), dependency];
    const pod = firstOf(await weighted.start({ containers }, { timeoutMs: limitMs }));
    const name = nameOf(pod);
    assert.deepEqual(pod.spec?.containers?.map(barrierKey), ["p_0", "p_10"]);
    assert.deepEqual(pod.spec?.containers?.map(barrierMap), Array(2).fill(`${name}-barrier`));
    assert.equal(pod.metadata.annotations?.[completed], "true");
    assertStartsAfterReady(momentsOf(await pods.stop(), name), "main", "dependency");
    assert.deepEqual((await barrierOf(world, name))?.data, { p_10: "true", p_0: "true" });
  });
  await world.step("2 in pods of others, too", async () => {
    const early = sleeper("early", "busybox:1.34", priority("1"));
    const containers = [sleeper("main", "busybox:1.34"), early];
    await world.apply(
      nativeWorkload("apps/v1", "Deployment", "native", { containers, more: { replicas: 1 } }),
    );
    await world.within(limitMs, "the pod of the Deployment is ready", async () => {
      const pod = firstOf(await world.list("pods", "case=native"));
      assert.ok(reportsReady(pod));
      assert.equal(pod.metadata.annotations?.[completed], "true");
    });
  });
}

/** The ConfigMap of a former pod, with all its keys, must not let the next pod of its name start at once. */
async function sameNameAgain(world: World): Promise<void> {
  await world.step("a pod of the same name starts level by level again", async () => {
    const containers = [sleeper("main", "busybox:1.34"), readyAfter("early", 2, priority("1"))];
    const more = { replicas: 1, serviceName: "again" };
    await world.apply(nativeWorkload("apps/v1", "StatefulSet", "again", { containers, more }));
    await world.untilReady("again-0", limitMs);
    const former = uidOf(await world.pod("again-0"));
    const trail = await world.trail("pods", "case=again");
    await world.remove("pods", "again-0");
    await world.within(limitMs, "the next one is ready", async () => {
      const pod = await world.pod("again-0");
      assert.notEqual(uidOf(pod), former);
      assert.ok(reportsReady(pod));
      const barrier = await barrierOf(world, "again-0");
      assert.deepEqual(barrier && ownerUidsOf(barrier), [uidOf(pod)]);
    });
    const seen = momentsOf(await trail.stop(), "again-0");
    const next = seen.filter(({ object }) => uidOf(object) !== former);
    assertStartsAfterReady(next, "main", "early");
  });
}

/** What is there already under the name of the ConfigMap belongs to somebody who did not ask for keys. */
async function anothersBarrier(world: World): Promise<void> {
  const title = "a ConfigMap that is not the pod's is left alone, and the pod says why it waits";
  await world.step(title, async () => {
    const held = await world.apply(configMap("held-barrier", { mine: "1" }));
    const containers = [sleeper("first", "busybox:1.34"), sleeper("second", "busybox:1.34")];
    await world.apply(podOf("held", { containers, annotations: ordered }));
    await world.until("the pod says so", async () => {
      const [event] = await world.events("Pod", "held", "BarrierNotOwned");
      assert.match(event?.message ?? "", /ConfigMap held-barrier/);
    });
    const statuses = (await world.pod("held")).status?.containerStatuses ?? [];
    assert.equal(
      statuses.some(({ ready }) => ready),
      false,
    );
    const barrier = await barrierOf(world, "held");
    assert.deepEqual(barrier?.data, { mine: "1" });
    assert.equal(barrier?.metadata.resourceVersion, held.metadata.resourceVersion);
    await world.remove("configmaps", "held-barrier");
    await world.untilReady("held", limitMs);
  });
}

function barrierOf(world: World, pod: string): Promise<Item | undefined> {
  return world.find("configmaps", `${pod}-barrier`);
}

/** The reference of the barrier variable, which comes last. */
function barrierRef(of: Container): { key?: string; name?: string } {
  const last = Object(records(of.env).at(-1));
  return last.name === "KRUISE_CONTAINER_BARRIER" ? Object(last.valueFrom?.configMapKeyRef) : {};
}

function barrierKey(of: Container): string | undefined {
  return barrierRef(of).key;
}

function barrierMap(of: Container): string | undefined {
  return barrierRef(of).name;
}

/** At the first moment that shows `later` with a container, `earlier` was ready in that moment or before. */
function assertStartsAfterReady(moments: readonly Moment[], later: string, earlier: string): void {
  const statusIn = ({ object }: Moment, name: string) => statusOf(object, name);
  const started = moments.findIndex((moment) => Boolean(statusIn(moment, later)?.containerID));
  assert.ok(started >= 0, `${later} never started`);
  const ready = moments.slice(0, started + 1).some((moment) => statusIn(moment, earlier)?.ready === true);
  assert.ok(ready, `${later} started before ${earlier} was ready`);
}

function distinctKeys(moments: readonly Moment[]): string[] {
  const all = moments.map(({ object }) => Object.keys(Object(object.data)).sort().join());
  return all.filter((keys, index) => keys !== all[index - 1]);
}
