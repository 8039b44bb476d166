import assert from "node:assert/strict";
import { type Item, isRecord, type ResourceName } from "../cluster/api.ts";
import { container } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { Moment } from "./trail.ts";
import type { World } from "./world.ts";

const label = (name: string) => `crr.apps.kruise.io/${name}`;

export const suite: Suite = {
  number: "47",
  title: "ContainerRecreateRequest: restart containers of a running pod",
  needs: ["agent"],
  async run(world) {
    const requests = new Requests(world);
    await oneContainer(world, requests);
    await world.step("2 both in order", async () => {
      const trail = await world.trail("pods");
      const containers = [{ name: "sidecar" }, { name: "app" }];
      const strategy = { orderedRecreate: true, failurePolicy: "Fail" };
      await requests.create("both", { containers, strategy, activeDeadlineSeconds: 120 });
      const done = await requests.untilCompleted("both");
      assert.deepEqual(statesOf(done), ["sidecar Succeeded true", "app Succeeded true"]);
      assertOrder(
        (await trail.stop()).map(({ object }) => object),
        1,
        2,
      );
    });
    await world.step("3 its spec cannot change, it can be deleted", async () => {
      const text = await world.refused(
        () => world.patch("both", "merge", { spec: { podName: "other" } }, requests.resource),
        403,
      );
      assert.match(text, /denied the request: spec of ContainerRecreateRequest is immutable$/);
      const labels = { [label("pod-uid")]: "other" };
      const refused = await world.refused(
        () => world.patch("both", "merge", { metadata: { labels } }, requests.resource),
        403,
      );
      assert.match(refused, /not allowed to update immutable label crr.apps.kruise.io\/pod-uid$/);
      await world.remove(requests.resource, "both");
      await world.until("it is gone", () => requests.gone("both"));
    });
    await world.step("4 refusals", async () => {
      const refused = async (spec: object): Promise<string> =>
        world.refused(() => requests.create("refused", spec), 400);
      assert.match(await refused({ podName: "no-such-pod" }), /: no found Pod named no-such-pod$/);
      assert.match(await refused({ containers: [{ name: "nope" }] }), /: container nope not found in Pod$/);
      const twice = [{ name: "app" }, { name: "app" }];
      assert.match(await refused({ containers: twice }), /: can not recreate app multi times$/);
      assert.match(
        await refused({ activeDeadlineSeconds: 1 }),
        /: activeDeadlineSeconds can not be less than 3s$/,
      );
    });
    await world.step("5 the second waits for the first", async () => {
      const trail = await world.trail(requests.resource);
      await requests.create("early", { strategy: { minStartedSeconds: world.seconds(5, 1) } });
      await requests.create("late", {});
      await requests.untilCompleted("late");
      await requests.untilCompleted("early");
      assertOneAfterTheOther(await trail.stop(), "early", "late");
    });
    await drain(world, requests);
    await world.step("6 the pod goes", async () => {
      await requests.create("orphaned", { strategy: { minStartedSeconds: 3_600 } });
      await world.remove("pods", "restart-me");
      const done = await requests.untilCompleted("orphaned");
      assert.equal(done.status?.["message"], "pod has gone");
    });
  },
};

async function oneContainer(world: World, requests: Requests): Promise<void> {
  const minStarted = world.seconds(5, 1);
  let before: Item | undefined;
  const trail = await world.trail(requests.resource);
  await world.step("1 filled in by admission", async () => {
    await world.apply(pod());
    await world.until("the pod is ready", async () => assert.ok(await isReady(world)), { timeoutMs: 90_000 });
    before = await world.api.get("pods", "restart-me", world.namespace);
    const spec = {
      strategy: { minStartedSeconds: minStarted },
      // Sandboxes share a machine that may be busy: what is completed must be seen before it goes.
      ttlSecondsAfterFinished: world.seconds(10, 20),
    };
    const made = await requests.create("one", spec);
    assert.equal(made.metadata.labels?.[label("pod-uid")], before.metadata.uid);
    assert.equal(made.metadata.labels?.[label("node-name")], before.spec?.nodeName);
    assert.equal(made.metadata.labels?.[label("active")], "true");
    const [listed] = Array.isArray(made.spec?.["containers"]) ? made.spec["containers"] : [];
    assert.deepEqual(listed, {
      name: "app",
      statusContext: { containerID: statusIn(before, "app")?.containerID, restartCount: 0 },
    });
    assert.deepEqual(made.spec?.["strategy"], {
      failurePolicy: "Fail",
      minStartedSeconds: minStarted,
      terminationGracePeriodSeconds: 2,
    });
  });
  await world.step("1 carried out, and nothing else touched", async () => {
    const done = await requests.untilCompleted("one");
    const node = before?.spec?.nodeName ?? "";
    assert.equal(await world.row("one", { resource: requests.resource }), `one Completed restart-me ${node}`);
    assert.deepEqual(statesOf(done), ["app Succeeded true"]);
    const after = await world.api.get("pods", "restart-me", world.namespace);
    assert.equal(after.metadata.uid, before?.metadata.uid);
    assert.equal(after.status?.podIP, before?.status?.podIP);
    assert.equal(statusIn(after, "app")?.restartCount, 1);
    assert.notEqual(statusIn(after, "app")?.containerID, statusIn(before, "app")?.containerID);
    assert.equal(statusIn(after, "sidecar")?.containerID, statusIn(before, "sidecar")?.containerID);
    assert.equal(statusIn(after, "sidecar")?.restartCount, 0);
    const startedAt = Date.parse(statusIn(after, "app")?.state?.running?.startedAt ?? "");
    const completedAt = Date.parse(String(done.status?.["completionTime"]));
    assert.ok(completedAt - startedAt >= minStarted * 1000, `completed ${completedAt - startedAt} ms later`);
    await world.until(
      "an event tells it",
      async () => {
        const killing = (await world.events("Pod", "restart-me", "Killing")).map(({ message }) => message);
        assert.deepEqual(killing, ["Stopping container app by ContainerRecreateRequest one"]);
      },
      { stableMs: 0 },
    );
  });
  await world.step("1 gone after its time to live", async () => {
    await world.until("it is gone", () => requests.gone("one"));
    const phases = (await trail.stop()).map(({ object }) => object.status?.phase ?? "");
    assert.ok(phases.includes("Recreating"));
    assert.ok(!phases.slice(phases.indexOf("Completed")).includes("Recreating"));
  });
}

/** With the readiness gate the pod is taken out of its endpoints before anything stops. */
async function drain(world: World, requests: Requests): Promise<void> {
  await world.step("the pod is held not ready first", async () => {
    await world.apply(pod("drained", [{ conditionType: "KruisePodReady" }]));
    await world.until("it is ready", async () => assert.ok(await isReady(world, "drained")), {
      timeoutMs: 90_000,
    });
    const trail = await world.trail("pods");
    // As long as a kubelet may take to set back a status that it does not agree with.
    const strategy = { unreadyGracePeriodSeconds: world.seconds(11, 6) };
    await requests.create("drain", { podName: "drained", strategy });
    const done = await requests.untilCompleted("drain");
    assert.deepEqual(done.metadata.finalizers ?? [], []);
    assertGraceShown(world, done);
    await world.until("it is ready again", async () => assert.ok(await isReady(world, "drained")));
    const seen = (await trail.stop()).filter(({ object }) => object.metadata.name === "drained");
    const since = seen.find(({ object }) => conditionIn(object, "KruisePodReady")?.status === "False");
    const key = `${world.namespace}/drain`;
    assert.equal(
      conditionIn(since?.object, "KruisePodReady")?.message,
      `[{"userAgent":"ContainerRecreateRequest","key":"${key}"}]`,
    );
    const restarted = seen.find(({ object }) => statusIn(object, "app")?.restartCount === 1);
    // A watch may show the first of the two late.
    const [from, to] = [since?.at ?? Number.POSITIVE_INFINITY, restarted?.at ?? 0];
    assert.ok(to - from >= 2_000, "stopped too early");
    // A report that the kubelet had under way may still say True.
    const ready = seen
      .filter(({ at }) => at > from + 1_500 && at < to)
      .filter(({ object }) => conditionIn(object, "Ready")?.status === "True");
    assert.deepEqual(
      ready.map(({ at }) => `Ready ${at - from} ms after the hold`),
      [],
    );
  });
}

/** v1alpha1 shows in annotations what v1beta1 has in its status. */
function assertGraceShown(world: World, { status, metadata }: Item): void {
  const acquired = metadata.annotations?.[label("unready-acquired")];
  const snapshot = metadata.annotations?.[label("sync-container-statuses")];
  if (world.version === "v1alpha1") {
    assert.match(acquired ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.equal(JSON.parse(snapshot ?? "[]")[0]?.name, "app");
  } else {
    assert.deepEqual([acquired, snapshot], [undefined, undefined]);
    assert.equal(conditionOf(status?.conditions)?.status, "True");
    const [shown] = Array.isArray(status?.["containerStatusSnapshot"])
      ? status["containerStatusSnapshot"]
      : [];
    assert.equal(isRecord(shown) ? shown["name"] : undefined, "app");
  }
}

function conditionOf(conditions: readonly { type: string; status: string }[] | undefined) {
  return conditions?.find(({ type }) => type === "PreRecreateGrace");
}

class Requests {
  readonly resource: ResourceName;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
    this.resource = `containerrecreaterequests.${world.version}.apps.kruise.io`;
  }

  create(name: string, spec: object): Promise<Item> {
    return this.#world.apply({
      apiVersion: `apps.kruise.io/${this.#world.version}`,
      kind: "ContainerRecreateRequest",
      metadata: { name },
      spec: { podName: "restart-me", containers: [{ name: "app" }], ...spec },
    });
  }

  async untilCompleted(name: string): Promise<Item> {
    let last: Item | undefined;
    const probe = async () => {
      last = await this.#world.api.get(this.resource, name, this.#world.namespace);
      assert.equal(last.status?.phase, "Completed", JSON.stringify(last.status));
      assert.equal(last.metadata.labels?.[label("active")], undefined);
    };
    await this.#world.until(`${name} is completed`, probe, { timeoutMs: 120_000, stableMs: 0 });
    if (last === undefined) throw new Error("unreachable");
    return last;
  }

  async gone(name: string): Promise<void> {
    const left = (await this.#world.list(this.resource)).map(({ metadata }) => metadata.name);
    assert.ok(!left.includes(name), `${name} is still there`);
  }
}

function pod(name = "restart-me", readinessGates: object[] = []): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 2,
      ...(readinessGates.length > 0 ? { readinessGates } : {}),
      containers: [
        container("app", "nginx:1.20"),
        container("sidecar", "busybox:1.34", {
          command: ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1; done"],
        }),
      ],
    },
  };
}

async function isReady(world: World, name = "restart-me"): Promise<boolean> {
  const found = await world.api.get("pods", name, world.namespace);
  return conditionIn(found, "Ready")?.status === "True";
}

function conditionIn(object: Item | undefined, type: string) {
  return object?.status?.conditions?.find((condition) => condition.type === type);
}

function statusIn(of: Item | undefined, name: string) {
  return of?.status?.containerStatuses?.find((status) => status.name === name);
}

function statesOf(request: Item): string[] {
  const states: unknown = request.status?.["containerRecreateStates"];
  if (!Array.isArray(states)) return [];
  return states.filter(isRecord).map((state) => `${state["name"]} ${state["phase"]} ${state["isKilled"]}`);
}

/** At the first moment that shows `app` restarted, `sidecar` has been back already. */
function assertOrder(pods: readonly Item[], sidecarRestarts: number, appRestarts: number): void {
  const changed = pods.find((one) => statusIn(one, "app")?.restartCount === appRestarts);
  assert.equal(statusIn(changed, "sidecar")?.restartCount, sidecarRestarts);
  assert.equal(statusIn(changed, "sidecar")?.ready, true);
}

function assertOneAfterTheOther(moments: readonly Moment[], first: string, second: string): void {
  const phases = new Map<string, string>();
  for (const { object, type } of moments) {
    if (type === "DELETED") continue;
    phases.set(object.metadata.name, object.status?.phase ?? "");
    if (phases.get(second) === "Recreating") assert.equal(phases.get(first), "Completed");
  }
  assert.deepEqual([phases.get(first), phases.get(second)], ["Completed", "Completed"]);
}
