import fc from "fast-check";
import t from "tap";
import type { PodUnavailableBudget } from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { planBudget } from "./plan.ts";
import { isConsistent, mayProtect } from "./pod_facts.ts";
import { spend } from "./spend.ts";
import { podsOfTarget } from "./workloads.ts";

const now = Date.UTC(2026, 0, 1);
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();

function pod(name: string, changes: Partial<Pod> & { ready?: boolean } = {}): Pod {
  const { ready = true, ...more } = changes;
  const condition = {
    type: "Ready",
    status: ready ? "True" : "False",
    reason: "",
    message: "",
    lastTransitionAt: 0,
  };
  return barePod(name, {
    annotations: { "pub.kruise.io/related-pub": "three" },
    controller: { group: "apps.kruise.io", kind: "CloneSet", name: "web", uid: "set" },
    nodeName: "node",
    initRestarts: 0,
    phase: "Running",
    conditions: [condition],
    ...more,
  });
}

const forLong = () => Number.POSITIVE_INFINITY;

type Spec = PodUnavailableBudget["spec"];
type Status = PodUnavailableBudget["status"];

function budget(spec: Spec, status?: Status): PodUnavailableBudget {
  const metadata = { name: "three", namespace: "default", generation: 2 };
  return { metadata, spec, ...(status === undefined ? {} : { status }) };
}

function plan(spec: Spec, pods: readonly Pod[], total: number, status?: Status) {
  const isProtectedBy = (name: string) => name === "three" || name === "other";
  return planBudget({
    object: budget(spec, status),
    pods,
    former: [],
    totalReplicas: total,
    isProtectedBy,
    knownFor: forLong,
    now,
  });
}

const counts = {
  observedGeneration: 1,
  unavailableAllowed: 1,
  currentAvailable: 4,
  desiredAvailable: 3,
  totalReplicas: 4,
};
const four = ["a", "b", "c", "d"].map((name) => pod(name));

t.test("floors, as the API rounds them", async (t) => {
  const floor = (spec: Spec, total: number) => plan(spec, [], total).status.desiredAvailable;
  t.equal(floor({ maxUnavailable: "60%" }, 5), 2);
  t.equal(floor({ maxUnavailable: "25%" }, 10), 7);
  t.equal(floor({ maxUnavailable: "25%" }, 5), 3);
  t.equal(floor({ minAvailable: "40%" }, 5), 2);
  t.equal(floor({ minAvailable: 7 }, 5), 7);
  t.equal(floor({ maxUnavailable: 9 }, 5), 0);
  t.equal(floor({ maxUnavailable: 1 }, -1), 0, "a total that is not known");
  t.equal(floor({ maxUnavailable: 1, protectTotalReplicas: 5 }, -1), 4);
});

t.test("available pods are counted against the floor", async (t) => {
  t.same(plan({ maxUnavailable: 1 }, four, 4).status, { ...counts, observedGeneration: 2 });
  const changes: Partial<Pod>[] = [
    { deletionAt: 1 },
    { phase: "Failed" },
    { phase: "Pending" },
    { labels: { "unavailable-pod.kruise.io/x": "" } },
    { annotations: { "apps.kruise.io/inplace-update-grace": '{"revision":"a"}' } },
  ];
  for (const change of changes) {
    const { status } = plan({ maxUnavailable: 1 }, [pod("a", change), ...four.slice(1)], 4);
    t.match(status, { unavailableAllowed: 0, currentAvailable: 3 }, JSON.stringify(change));
  }
});

t.test("what admission allowed counts until it is seen or its time is over", async (t) => {
  const status = {
    ...counts,
    disruptedPods: { a: ago(5), gone: ago(1), d: ago(21) },
    unavailablePods: { b: ago(4), c: ago(11) },
  };
  const planned = plan({ maxUnavailable: 1 }, four, 4, status);
  t.same(planned.status.disruptedPods, { a: ago(5) });
  t.same(planned.status.unavailablePods, { b: ago(4) });
  t.equal(planned.status.currentAvailable, 2);
  t.same(
    planned.notDeleted.map(({ name }) => name),
    ["d"],
  );
  t.equal(planned.requeueAfterMs, 6000);
});

t.test("pods without a budget, and of one that is gone, are tied", async (t) => {
  const pods = [
    pod("free", { annotations: {} }),
    pod("left", { annotations: { "kruise.io/related-pub": "gone" } }),
    pod("taken", { annotations: { "pub.kruise.io/related-pub": "other" } }),
    pod("tied"),
    pod("going", { annotations: {}, deletionAt: 1 }),
  ];
  t.same(
    plan({ maxUnavailable: 1 }, pods, 5).link.map(({ name }) => name),
    ["free", "left"],
  );
});

t.test("pods that another budget does not protect any more are tied to the one that does", async (t) => {
  const other: PodUnavailableBudget = {
    metadata: { name: "other" },
    spec: { selector: { matchLabels: { app: "old" } }, maxUnavailable: 1 },
  };
  const target = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
  const byTarget: PodUnavailableBudget = {
    metadata: { name: "target" },
    spec: { targetRef: target, maxUnavailable: 1 },
  };
  const leaving: PodUnavailableBudget = {
    metadata: { name: "leaving", deletionTimestamp: "2026-01-01T00:00:00Z" },
    spec: byTarget.spec,
  };
  const tie = (related: string) => ({ annotations: { "pub.kruise.io/related-pub": related } });
  const pods = [
    pod("moved", { ...tie("other"), labels: { app: "web" } }),
    pod("staying", { ...tie("other"), labels: { app: "old" } }),
    pod("of-target", { ...tie("target"), labels: { app: "web" } }),
    pod("left", { ...tie("leaving"), labels: { app: "web" } }),
  ];
  const { link } = planBudget({
    object: budget({ maxUnavailable: 1 }),
    pods,
    former: [],
    totalReplicas: 3,
    isProtectedBy: (name, one) =>
      mayProtect(
        [other, byTarget, leaving].find(({ metadata }) => metadata.name === name),
        one,
      ),
    knownFor: forLong,
    now,
  });
  t.same(
    link.map(({ name }) => name),
    ["moved", "left"],
  );
});

t.test("no pods, and amounts that cannot be read", async (t) => {
  t.match(plan({ maxUnavailable: 1 }, [], 0), { isIdle: true, problem: undefined });
  t.match(plan({ maxUnavailable: "many" }, four, 4), { isIdle: false, problem: /is not a percentage/ });
});

t.test("images by digest must be those that run", async (t) => {
  const running = (image: string, imageID: string) =>
    isConsistent(
      pod("a", {
        containers: [{ name: "main", image, resources: {}, env: [], resizePolicy: {} }],
        containerStatuses: [{ name: "main", image, imageID, containerID: "c", ready: true, restartCount: 0 }],
      }),
    );
  t.equal(running("reg/app@sha256:1", "docker-pullable://reg/app@sha256:1"), true);
  t.equal(running("reg/app:v1@sha256:1", "reg/app@sha256:1"), true);
  t.equal(running("reg/app@sha256:2", "reg/app@sha256:1"), false);
  t.equal(running("app:1", "whatever"), true, "never updated in place");
});

t.test("spending", async (t) => {
  const options = { resizeApart: false };
  const asked = pod("a", { labels: { force: "yes" } });
  const ask = (spec: Spec, status: Status, operation: "DELETE" | "UPDATE" | "EVICT" | "RESIZE" = "DELETE") =>
    spend(budget({ maxUnavailable: 1, ...spec }, status), asked, operation, now, options);
  t.same(ask({}, counts), {
    allowed: true,
    status: {
      unavailableAllowed: 0,
      currentAvailable: 3,
      disruptedPods: { a: "2026-01-01T00:00:00Z" },
    },
  });
  t.match(ask({}, counts, "UPDATE"), { status: { unavailablePods: { a: "2026-01-01T00:00:00Z" } } });
  const empty = { ...counts, unavailableAllowed: 0 };
  t.same(ask({}, empty), {
    allowed: false,
    message:
      'podunavailablebudget.policy.kruise.io "three" is forbidden: pub unavailable allowed is negative',
  });
  const passes = { allowed: true };
  t.same(ask({}, undefined), passes);
  t.same(ask({}, { ...empty, desiredAvailable: 0 }), passes);
  t.same(ask({ ignoredPodSelector: { matchLabels: { force: "yes" } } }, empty), passes);
  t.same(ask({ protectOperations: ["EVICT"] }, empty), passes);
  t.same(ask({}, { ...empty, disruptedPods: { a: ago(1) } }), passes, "allowed already");
  t.match(ask({}, empty, "RESIZE"), { allowed: false }, "an update like others");
  const apart = spend(budget({ maxUnavailable: 1 }, empty), asked, "RESIZE", now, { resizeApart: true });
  t.same(apart, passes);
  const many = Object.fromEntries(Array.from({ length: 2001 }, (_, index) => [`p${index}`, ago(1)]));
  t.match(ask({}, { ...counts, disruptedPods: many }), { allowed: false, message: /map too big/ });
});

t.test("an annotation names the operations where the field does not", async (t) => {
  const empty = { ...counts, unavailableAllowed: 0 };
  const annotated = (spec: Spec) => ({
    ...budget({ maxUnavailable: 1, ...spec }, empty),
    metadata: { name: "three", annotations: { "kruise.io/pub-protect-operations": "EVICT, UPDATE" } },
  });
  const options = { resizeApart: false };
  t.equal(spend(annotated({}), pod("a"), "DELETE", now, options).allowed, true);
  t.equal(spend(annotated({}), pod("a"), "UPDATE", now, options).allowed, false);
  t.equal(
    spend(annotated({ protectOperations: ["DELETE"] }), pod("a"), "DELETE", now, options).allowed,
    false,
  );
});

const amount = fc.oneof(
  fc.nat(6),
  fc.nat(100).map((percent) => `${percent}%`),
);

t.test("property: whatever is deleted in whatever order, the floor holds", async (t) => {
  const step = fc.oneof(
    fc.record({ do: fc.constant("delete" as const), which: fc.nat(7) }),
    fc.record({ do: fc.constant("look" as const), which: fc.nat(7) }),
    fc.record({ do: fc.constant("gone" as const), which: fc.nat(7) }),
    fc.record({ do: fc.constant("back" as const), which: fc.nat(7) }),
    fc.record({ do: fc.constant("mark" as const), which: fc.nat(7) }),
  );
  const property = fc.property(
    amount,
    fc.boolean(),
    fc.array(step, { maxLength: 40 }),
    (value, isMost, steps) => {
      const spec: Spec = isMost ? { maxUnavailable: value } : { minAvailable: value };
      const pods = new Map<string, Pod>(
        Array.from({ length: 6 }, (_, index) => [`p${index}`, pod(`p${index}`)]),
      );
      let object = budget(spec);
      const look = () => {
        const seen = {
          object,
          pods: [...pods.values()],
          former: [],
          totalReplicas: 6,
          isProtectedBy: () => true,
          knownFor: forLong,
          now,
        };
        object = { ...object, status: planBudget(seen).status };
      };
      look();
      const floor = object.status?.desiredAvailable ?? 0;
      fc.pre(floor <= 6);
      for (const { do: what, which } of steps) {
        const name = `p${which}`;
        const found = pods.get(name);
        if (what === "look") look();
        else if (what === "back" && found === undefined) pods.set(name, pod(name));
        else if (what === "mark" && found !== undefined)
          pods.set(name, { ...found, labels: { "apps.kruise.io/specified-delete": "true" } });
        else if (what === "gone" && found?.deletionAt !== undefined) pods.delete(name);
        else if (what === "delete" && found !== undefined && found.deletionAt === undefined) {
          const spending = spend(object, found, "DELETE", now, { resizeApart: false });
          if (!spending.allowed) continue;
          const { status } = object;
          if (spending.status !== undefined && status !== undefined) {
            const disruptedPods = { ...status.disruptedPods, ...spending.status.disruptedPods };
            object = { ...object, status: { ...status, ...spending.status, disruptedPods } };
          }
          pods.set(name, { ...found, deletionAt: now });
        }
        const left = [...pods.values()].filter(({ deletionAt }) => deletionAt === undefined).length;
        if (left < floor) return false;
      }
      return true;
    },
  );
  t.equal(fc.check(property, { seed: 51, numRuns: 300 }).counterexample, null);
});

t.test(
  "property: no entry holds longer than its time, whatever date it has, and is dated once",
  async (t) => {
    const year = 365 * 86_400_000;
    const offset = fc.oneof(fc.integer({ min: -30_000, max: 30_000 }), fc.integer({ min: -year, max: year }));
    const date = fc.oneof(
      offset.map((ms) => new Date(now + ms).toISOString()),
      fc.constantFrom("", "tomorrow"),
    );
    const entries = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), date);
    const property = fc.property(entries, entries, (disruptedPods, unavailablePods) => {
      const look = (status: Status, at: number) =>
        planBudget({
          object: budget({ maxUnavailable: 1 }, status),
          pods: four,
          former: [],
          totalReplicas: 4,
          isProtectedBy: () => true,
          knownFor: forLong,
          now: at,
        });
      let planned = look({ ...counts, disruptedPods, unavailablePods }, now);
      let at = now;
      while (planned.requeueAfterMs !== undefined) {
        const before = JSON.stringify(planned.status);
        if (JSON.stringify(look(planned.status, at).status) !== before) return false;
        at += planned.requeueAfterMs;
        if (at > now + 20_000) return false;
        planned = look(planned.status, at);
      }
      return planned.status.currentAvailable === 4;
    });
    t.equal(fc.check(property, { seed: 53, numRuns: 300 }).counterexample, null);
  },
);

t.test("marked pods are as good as gone: what stands in for them is not spent twice", async (t) => {
  const mark = { labels: { "apps.kruise.io/specified-delete": "" } };
  const marked = ["a", "b", "c", "d", "e", "f"].map((name) => pod(name, mark));
  const rest = pod("stand-in");
  const { status } = plan({ maxUnavailable: 1 }, [...marked, rest], 6);
  t.match(status, { unavailableAllowed: 0, currentAvailable: 7, desiredAvailable: 5 });
  const object = budget({ maxUnavailable: 1 }, status);
  const ask = (one: Pod, at = object) => spend(at, one, "DELETE", now, { resizeApart: false });
  t.equal(ask(rest).allowed, false, "nothing is left for others");
  // One after the other, as long as the floor holds without it.
  const first = ask(pod("a", mark));
  t.match(first, { allowed: true, status: { unavailableAllowed: 0, currentAvailable: 6 } });
  const next = { ...object, status: { ...status, ...(first.allowed && first.status) } };
  const second = ask(pod("b", mark), next);
  t.equal(second.allowed, true);
  const last = { ...next, status: { ...next.status, ...(second.allowed && second.status) } };
  t.equal(ask(pod("c", mark), last).allowed, false);
  // Without a stand-in a mark takes the place of a disruption.
  const four = plan({ maxUnavailable: 1 }, [pod("a", mark), pod("b"), pod("c"), pod("d")], 4).status;
  t.match(four, { unavailableAllowed: 0, currentAvailable: 4, desiredAvailable: 3 });
  t.equal(ask(pod("a", mark), budget({ maxUnavailable: 1 }, four)).allowed, true);
  t.equal(ask(pod("b"), budget({ maxUnavailable: 1 }, four)).allowed, false);
  // One that got its mark after the status was written takes what was left for others.
  const before = plan({ maxUnavailable: 1 }, [pod("a"), pod("b"), pod("c"), pod("d")], 4).status;
  t.match(before, { unavailableAllowed: 1, currentAvailable: 4, desiredAvailable: 3 });
  t.match(ask(pod("a", mark), budget({ maxUnavailable: 1 }, before)), {
    allowed: true,
    status: { unavailableAllowed: 0, currentAvailable: 3 },
  });
  // One that is not ready is counted as such already.
  const unready = plan(
    { maxUnavailable: 2 },
    [pod("a", { ...mark, ready: false }), pod("b"), pod("c"), pod("d")],
    4,
  );
  t.match(unready.status, { unavailableAllowed: 1, currentAvailable: 3 });
});

t.test(
  "property: what was let pass a moment ago is not given away again, however wrong a clock is",
  async (t) => {
    const [hour, date] = [3_600_000, new Date(now).toISOString()];
    const property = fc.property(
      fc.integer({ min: -hour, max: hour }),
      fc.nat(19_999),
      fc.constantFrom("disruptedPods", "unavailablePods"),
      (aheadMs, knownMs, field) => {
        const known = Math.min(knownMs, field === "disruptedPods" ? 19_999 : 9_999);
        const { status, requeueAfterMs = 0 } = planBudget({
          object: budget({ maxUnavailable: 1 }, { ...counts, [field]: { a: date } }),
          pods: four,
          former: [],
          totalReplicas: 4,
          isProtectedBy: () => true,
          knownFor: () => known,
          now: now + aheadMs,
        });
        return status.unavailableAllowed === 0 && requeueAfterMs > 0;
      },
    );
    t.equal(fc.check(property, { seed: 52, numRuns: 1_000 }).counterexample, null);
  },
);

t.test("pods of an object that had the name of the target before it are let go", async (t) => {
  const ownedBy = (uid: string, name: string): Pod =>
    barePod(name, {
      phase: "Running",
      annotations: { "pub.kruise.io/related-pub": "budget" },
      controller: { group: "apps.kruise.io", kind: "StatefulSet", name: "web", uid },
    });
  const object: PodUnavailableBudget = {
    metadata: { name: "budget", namespace: "ns" },
    spec: {
      targetRef: { apiVersion: "apps.kruise.io/v1beta1", kind: "StatefulSet", name: "web" },
      maxUnavailable: 1,
    },
  };
  const pods = [ownedBy("old", "web-0"), ownedBy("new", "web-1"), ownedBy("old", "web-2")];
  const found = await podsOfTarget(object, pods, {
    known: () => ({ uid: "new", replicas: 3, terminating: false }),
    replicaSetsOf: () => [],
    scaleOf: async () => undefined,
  });
  const plan = planBudget({ object, ...found, isProtectedBy: () => true, knownFor: () => 0, now: 0 });
  t.same(
    plan.unlink.map(({ name }) => name),
    ["web-0", "web-2"],
  );
  t.equal(plan.status.desiredAvailable, 2);
});
