import fc from "fast-check";
import t from "tap";
import type { ContainerStatus, Pod, PodContainer } from "../../../kube/index.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { awaitsLaunch, planLaunch } from "./plan.ts";

function container(name: string, key: string | undefined, configMap = "web-barrier"): PodContainer {
  const barrier = { name: "KRUISE_CONTAINER_BARRIER", configMapKey: { name: configMap, key: key ?? "" } };
  return { name, image: "i", resources: {}, env: key === undefined ? [] : [barrier], resizePolicy: {} };
}

function statusOf(name: string, ready: boolean): ContainerStatus {
  return { name, image: "i", imageID: "", containerID: ready ? `c://${name}` : "", ready, restartCount: 0 };
}

function pod(
  containers: readonly PodContainer[],
  ready: readonly string[] = [],
  more: Partial<Pod> = {},
): Pod {
  return barePod("web", {
    uid: "pod-1",
    fieldManagers: "updates",
    containers,
    containerStatuses: containers.map(({ name }) => statusOf(name, ready.includes(name))),
    ...more,
  });
}

const three = [container("a", "p_0"), container("b", "p_-1"), container("c", "p_-2")];

t.test("level by level, each when those above are ready", async (t) => {
  t.strictSame(planLaunch(pod(three)), { keys: ["p_0"], completed: false, waitsFor: ["a"] });
  t.strictSame(planLaunch(pod(three, ["a"])), { keys: ["p_0", "p_-1"], completed: false, waitsFor: ["b"] });
  const last = { keys: ["p_0", "p_-1", "p_-2"], completed: true, waitsFor: ["c"] };
  t.strictSame(planLaunch(pod(three, ["a", "b"])), last);
  t.strictSame(planLaunch(pod(three, ["b", "c"])), { keys: ["p_0"], completed: false, waitsFor: ["a"] });
  t.strictSame(planLaunch(pod(three, ["a", "b", "c"])), { ...last, waitsFor: [] });
  t.strictSame(planLaunch(pod(three, [], { containerStatuses: [] })).keys, ["p_0"], "no status is not ready");
});

t.test("a level may have several containers, and the order of the spec does not matter", async (t) => {
  const mixed = [
    container("main", "p_0"),
    container("x", "p_10"),
    container("y", "p_10"),
    container("free", undefined),
  ];
  t.strictSame(planLaunch(pod(mixed, ["x"])), { keys: ["p_10"], completed: false, waitsFor: ["y"] });
  t.strictSame(planLaunch(pod(mixed, ["x", "y"])).keys, ["p_10", "p_0"]);
});

t.test("which pods are looked after", async (t) => {
  t.equal(awaitsLaunch(pod(three)), true);
  t.equal(awaitsLaunch(pod([container("a", undefined)])), false);
  t.equal(awaitsLaunch(pod([container("a", "p_0", "settings")])), false, "the user's own variable");
  t.equal(awaitsLaunch(pod([container("a", "key")])), false, "no key of ours");
  const annotations = { "apps.kruise.io/container-launch-priority-completed": "true" };
  t.equal(awaitsLaunch(pod(three, [], { annotations })), false);
  t.equal(awaitsLaunch(pod(three, [], { deletionAt: 5 })), false);
  t.equal(awaitsLaunch(pod(three, [], { phase: "Failed" })), false);
  const bare = { name: "KRUISE_CONTAINER_BARRIER", value: "x" };
  t.equal(awaitsLaunch(pod([{ ...container("a", undefined), env: [bare] }])), false);
});

t.test("any launch ends, no container starts before all above it are ready", async (t) => {
  const priorities = fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 2, maxLength: 6 });
  await fc.assert(
    fc.property(priorities, fc.infiniteStream(fc.nat()), (levels, chance) => {
      const containers = levels.map((level, index) => container(`c${index}`, `p_${level}`));
      const ready = new Set<string>();
      const given = new Set<string>();
      for (let step = 0; step <= levels.length; step++) {
        const plan = planLaunch(pod(containers, [...ready]));
        for (const key of plan.keys) given.add(key);
        if (plan.completed) return given.size === new Set(levels).size;
        const started = levels.flatMap((level, index) => (given.has(`p_${level}`) ? [{ level, index }] : []));
        for (const { level } of started) {
          const above = levels.flatMap((other, index) => (other > level ? [`c${index}`] : []));
          if (!above.every((name) => ready.has(name))) return false;
        }
        const waiting = started.filter(({ index }) => !ready.has(`c${index}`));
        if (waiting.length === 0) return false;
        const next = waiting[(chance.next().value ?? 0) % waiting.length];
        ready.add(`c${next?.index}`);
      }
      return false;
    }),
    { seed: 46, numRuns: 1000 },
  );
  t.pass("held in all runs");
});
