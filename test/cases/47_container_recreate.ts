import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { conditionOf, nameOf, records, startOf, statusOf, uidOf } from "./items.ts";
import { container, podOf } from "./manifests.ts";
import { activeLabel, politeCommand, RecreateRequest, statesOf } from "./recreate_requests.ts";
import type { Suite } from "./suite.ts";
import { type Moment, momentsOf } from "./trail.ts";
import type { World } from "./world.ts";

const label = (name: string) => `crr.apps.kruise.io/${name}`;

export const suite: Suite = {
  number: "47",
  title: "ContainerRecreateRequest: restart containers of a running pod",
  needs: ["agent"],
  async run(world) {
    const both = new Request(world, "both");
    await oneContainer(world);
    await world.step("2 both in order", async () => {
      const trail = await world.trail("pods");
      const containers = [{ name: "sidecar" }, { name: "app" }];
      const strategy = { orderedRecreate: true, failurePolicy: "Fail" };
      await both.create({ containers, strategy, activeDeadlineSeconds: 120 });
      const done = await both.untilCompleted();
      assert.deepEqual(killedOf(done), ["sidecar Succeeded true", "app Succeeded true"]);
      assertOrder((await trail.stop()).map(({ object }) => object));
    });
    await world.step("3 its spec cannot change, it can be deleted", async () => {
      const spec = /denied the request: spec of ContainerRecreateRequest is immutable$/;
      await world.refuses(403, () => both.mergeSpec({ podName: "other" }), spec);
      const labels = { [label("pod-uid")]: "other" };
      const words = /not allowed to update immutable label crr.apps.kruise.io\/pod-uid$/;
      await world.refuses(403, () => both.merge({ metadata: { labels } }), words);
      await both.remove();
      await both.untilGone();
    });
    await world.step("4 refusals", async () => {
      const refusals: readonly [spec: object, words: RegExp][] = [
        [{ podName: "no-such-pod" }, /: no found Pod named no-such-pod$/],
        [{ containers: [{ name: "nope" }] }, /: container nope not found in Pod$/],
        [{ containers: [{ name: "app" }, { name: "app" }] }, /: can not recreate app multi times$/],
        [{ activeDeadlineSeconds: 1 }, /: activeDeadlineSeconds can not be less than 3s$/],
      ];
      for (const [spec, words] of refusals)
        await world.refuses(400, () => new Request(world, "refused").create(spec), words);
    });
    await world.step("5 the second waits for the first", async () => {
      const [early, late] = [new Request(world, "early"), new Request(world, "late")];
      const trail = await world.trail(early.resource);
      await early.create({ strategy: { minStartedSeconds: world.seconds(5, 1) } });
      await late.create();
      await late.untilCompleted();
      await early.untilCompleted();
      assertOneAfterTheOther(await trail.stop(), "early", "late");
    });
    await drain(world);
    await world.step("6 the pod goes", async () => {
      const orphaned = new Request(world, "orphaned");
      await orphaned.create({ strategy: { minStartedSeconds: 3_600 } });
      await world.remove("pods", "restart-me");
      const done = await orphaned.untilCompleted();
      assert.equal(done.status?.["message"], "pod has gone");
    });
  },
};

/** For the pod `restart-me`, unless its spec names another one. */
class Request extends RecreateRequest {
  override create(spec: object = {}): Promise<Item> {
    return super.create({ podName: "restart-me", ...spec });
  }
}

async function oneContainer(world: World): Promise<void> {
  const one = new Request(world, "one");
  const minStartedSeconds = world.seconds(5, 1);
  const trail = await world.trail(one.resource);
  let before: Item | undefined;
  await world.step("1 filled in by admission", async () => {
    await world.apply(pod("restart-me"));
    await world.untilReady("restart-me", 90_000);
    before = await world.pod("restart-me");
    const made = await one.create({
      strategy: { minStartedSeconds },
      // Sandboxes share a machine that may be busy: what is completed must be seen before it goes.
      ttlSecondsAfterFinished: world.seconds(10, 20),
    });
    assert.equal(made.metadata.labels?.[label("pod-uid")], uidOf(before));
    assert.equal(made.metadata.labels?.[label("node-name")], before.spec?.nodeName);
    assert.equal(made.metadata.labels?.[activeLabel], "true");
    const statusContext = { containerID: statusOf(before, "app")?.containerID, restartCount: 0 };
    assert.deepEqual(records(made.spec?.["containers"])[0], { name: "app", statusContext });
    const strategy = { failurePolicy: "Fail", minStartedSeconds, terminationGracePeriodSeconds: 2 };
    assert.deepEqual(made.spec?.["strategy"], strategy);
  });
  await world.step("1 carried out, and nothing else touched", async () => {
    const done = await one.untilCompleted();
    assert.equal(await one.row(), `Completed restart-me ${before?.spec?.nodeName}`);
    assert.deepEqual(killedOf(done), ["app Succeeded true"]);
    const after = await world.pod("restart-me");
    assert.equal(after.metadata.uid, before?.metadata.uid);
    assert.equal(after.status?.podIP, before?.status?.podIP);
    assert.equal(statusOf(after, "app")?.restartCount, 1);
    assert.notEqual(statusOf(after, "app")?.containerID, statusOf(before, "app")?.containerID);
    assert.equal(statusOf(after, "sidecar")?.containerID, statusOf(before, "sidecar")?.containerID);
    assert.equal(statusOf(after, "sidecar")?.restartCount, 0);
    const took = Date.parse(String(done.status?.["completionTime"])) - startOf(after, "app");
    assert.ok(took >= minStartedSeconds * 1000, `completed ${took} ms later`);
    await world.once("an event tells it", async () => {
      const killing = (await world.events("Pod", "restart-me", "Killing")).map(({ message }) => message);
      assert.deepEqual(killing, ["Stopping container app by ContainerRecreateRequest one"]);
    });
  });
  await world.step("1 gone after its time to live", async () => {
    await one.untilGone();
    const phases = (await trail.stop()).map(({ object }) => object.status?.phase ?? "");
    assert.ok(phases.includes("Recreating"));
    assert.ok(!phases.slice(phases.indexOf("Completed")).includes("Recreating"));
  });
}

/** With the readiness gate the pod is taken out of its endpoints before anything stops. */
async function drain(world: World): Promise<void> {
  await world.step("the pod is held not ready first", async () => {
    const request = new Request(world, "drain");
    await world.apply(pod("drained", { readinessGates: [{ conditionType: "KruisePodReady" }] }));
    await world.untilReady("drained", 90_000);
    const trail = await world.trail("pods");
    // As long as a kubelet may take to set back a status that it does not agree with.
    const strategy = { unreadyGracePeriodSeconds: world.seconds(11, 6) };
    await request.create({ podName: "drained", strategy });
    const done = await request.untilCompleted();
    assert.deepEqual(done.metadata.finalizers ?? [], []);
    assertGraceShown(world, done);
    await world.untilReady("drained");
    const seen = momentsOf(await trail.stop(), "drained");
    const since = seen.find(({ object }) => conditionOf(object, "KruisePodReady")?.status === "False");
    const holder = { userAgent: "ContainerRecreateRequest", key: `${world.namespace}/drain` };
    assert.equal(conditionOf(since?.object, "KruisePodReady")?.message, JSON.stringify([holder]));
    const restarted = seen.find(({ object }) => statusOf(object, "app")?.restartCount === 1);
    // A watch may show the first of the two late.
    const [from, to] = [since?.at ?? Number.POSITIVE_INFINITY, restarted?.at ?? 0];
    assert.ok(to - from >= 2_000, "stopped too early");
    // A report that the kubelet had under way may still say True.
    const ready = seen
      .filter(({ at }) => at > from + 1_500 && at < to)
      .filter(({ object }) => conditionOf(object, "Ready")?.status === "True")
      .map(({ at }) => `Ready ${at - from} ms after the hold`);
    assert.deepEqual(ready, []);
  });
}

/** v1alpha1 shows in annotations what v1beta1 has in its status. */
function assertGraceShown({ version }: World, request: Item): void {
  const { status, metadata } = request;
  const acquired = metadata.annotations?.[label("unready-acquired")];
  const snapshot = metadata.annotations?.[label("sync-container-statuses")];
  if (version === "v1alpha1") {
    assert.match(acquired ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.equal(JSON.parse(snapshot ?? "[]")[0]?.name, "app");
  } else {
    assert.deepEqual([acquired, snapshot], [undefined, undefined]);
    assert.equal(conditionOf(request, "PreRecreateGrace")?.status, "True");
    assert.equal(records(status?.["containerStatusSnapshot"])[0]?.["name"], "app");
  }
}

function pod(name: string, spec: object = {}): object {
  const containers = [
    container("app", "nginx:1.20"),
    container("sidecar", "busybox:1.34", { command: politeCommand }),
  ];
  return podOf(name, { containers, spec: { terminationGracePeriodSeconds: 2, ...spec } });
}

/** With whether the agent has stopped the container. */
function killedOf(request: Item): string[] {
  const states = records(request.status?.["containerRecreateStates"]);
  return statesOf(request).map((state, index) => `${state} ${states[index]?.["isKilled"]}`);
}

/** At the first moment that shows `app` restarted for the second time, `sidecar` has been back already. */
function assertOrder(pods: readonly Item[]): void {
  const changed = pods.find((one) => statusOf(one, "app")?.restartCount === 2);
  assert.equal(statusOf(changed, "sidecar")?.restartCount, 1);
  assert.equal(statusOf(changed, "sidecar")?.ready, true);
}

function assertOneAfterTheOther(moments: readonly Moment[], first: string, second: string): void {
  const phases = new Map<string, string>();
  for (const { object, type } of moments) {
    if (type === "DELETED") continue;
    phases.set(nameOf(object), object.status?.phase ?? "");
    if (phases.get(second) === "Recreating") assert.equal(phases.get(first), "Completed");
  }
  assert.deepEqual([phases.get(first), phases.get(second)], ["Completed", "Completed"]);
}
