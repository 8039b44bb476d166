/** Random budgets against a plain reading of the rules, which shares no code with the plan. Spec: protection A4, rules 5 to 10, 27. */
import fc from "fast-check";
import t from "tap";
import type { PodUnavailableBudget } from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { planBudget } from "./plan.ts";

const now = Date.UTC(2026, 0, 1);
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString().replace(".000Z", "Z");

const given = fc.record({
  phase: fc.constantFrom("Running", "Running", "Running", "Pending", "Succeeded", "Failed"),
  ready: fc.constantFrom("True", "True", "True", "False", "Unknown"),
  terminating: fc.constantFrom(false, false, false, true),
  label: fc.constantFrom(
    "",
    "",
    "",
    "unavailable-pod.kruise.io/x",
    "apps.kruise.io/specified-delete",
    "other",
  ),
  tie: fc.constantFrom(undefined, "three", "other", "gone"),
  /** By digest: whether the container runs it. */
  digest: fc.constantFrom(undefined, undefined, undefined, true, false),
  disrupted: fc.option(fc.integer({ min: 0, max: 40 }), { nil: undefined, freq: 4 }),
  unavailable: fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined, freq: 4 }),
});
type Given = typeof given extends fc.Arbitrary<infer G> ? G : never;

const amount = fc.oneof(
  fc.integer({ min: 0, max: 8 }),
  fc.integer({ min: 0, max: 100 }).map((percent) => `${percent}%`),
);
const budget = fc.record({
  isMost: fc.boolean(),
  amount,
  total: fc.integer({ min: -1, max: 10 }),
  protectTotalReplicas: fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined, freq: 3 }),
});

/** Every object inherits a member of the first one's name. */
const nameOf = (index: number) => (index === 0 ? "constructor" : `p${index}`);

function podOf(one: Given, index: number): Pod {
  const image = one.digest === undefined ? "app:1" : "reg/app@sha256:1";
  const imageID = one.digest === false ? "reg/app@sha256:2" : "reg/app@sha256:1";
  const condition = { type: "Ready", status: one.ready, reason: "", message: "", lastTransitionAt: 0 };
  return barePod(nameOf(index), {
    phase: one.phase,
    conditions: [condition],
    deletionAt: one.terminating ? now : undefined,
    labels: one.label === "" ? {} : { [one.label]: "" },
    annotations: one.tie === undefined ? {} : { "kruise.io/related-pub": one.tie },
    containers: [{ name: "main", image, resources: {}, env: [], resizePolicy: {} }],
    containerStatuses: [{ name: "main", image, imageID, containerID: "c", ready: true, restartCount: 0 }],
  });
}

const recordOf = (pods: readonly Given[], key: "disrupted" | "unavailable") =>
  Object.fromEntries(
    pods.flatMap((one, index) => (one[key] === undefined ? [] : [[nameOf(index), ago(one[key])] as const])),
  );

/** From the rules, in their order. */
function expected(pods: readonly Given[], of: typeof budget extends fc.Arbitrary<infer B> ? B : never) {
  const isActive = (one: Given) => !["Succeeded", "Failed"].includes(one.phase) && !one.terminating;
  const isHeld = (one: Given) =>
    (one.disrupted !== undefined && one.disrupted < 20) ||
    (one.unavailable !== undefined && one.unavailable < 10);
  const total = of.protectTotalReplicas ?? of.total;
  const share =
    typeof of.amount === "number"
      ? of.amount
      : Math.ceil((Number.parseInt(of.amount, 10) * Math.max(0, total)) / 100);
  const floor = Math.max(0, of.isMost ? total - share : share);
  const counted = pods.filter(
    (one) =>
      isActive(one) &&
      !isHeld(one) &&
      one.phase === "Running" &&
      one.ready === "True" &&
      !one.label.startsWith("unavailable-pod.kruise.io/") &&
      one.digest !== false,
  );
  const marked = counted.filter(({ label }) => label === "apps.kruise.io/specified-delete").length;
  const names = (wanted: (one: Given) => boolean) =>
    pods.flatMap((one, index) => (isActive(one) && wanted(one) ? [nameOf(index)] : []));
  const waits = pods.flatMap((one) => {
    if (!isActive(one)) return [];
    const left = [
      one.disrupted === undefined ? 0 : 20 - one.disrupted,
      one.unavailable === undefined ? 0 : 10 - one.unavailable,
    ];
    return left.filter((seconds) => seconds > 0).map((seconds) => seconds * 1000);
  });
  return {
    unavailableAllowed: Math.max(0, counted.length - marked - floor),
    currentAvailable: counted.length,
    desiredAvailable: floor,
    totalReplicas: total,
    disruptedPods: names(({ disrupted }) => disrupted !== undefined && disrupted < 20),
    unavailablePods: names(({ unavailable }) => unavailable !== undefined && unavailable < 10),
    notDeleted: names(({ disrupted }) => disrupted !== undefined && disrupted >= 20),
    link: names(({ tie }) => tie === undefined || tie === "gone"),
    requeueAfterMs: waits.length === 0 ? undefined : Math.min(...waits),
  };
}

t.test("property: counts, floor, records and ties are as the rules have them", (t) => {
  const met = { spends: 0, held: 0, expired: 0, marked: 0 };
  fc.assert(
    fc.property(fc.array(given, { maxLength: 9 }), budget, (pods, of) => {
      const object: PodUnavailableBudget = {
        metadata: { name: "three", namespace: "default", generation: 2 },
        spec: {
          ...(of.isMost ? { maxUnavailable: of.amount } : { minAvailable: of.amount }),
          ...(of.protectTotalReplicas === undefined ? {} : { protectTotalReplicas: of.protectTotalReplicas }),
        },
        status: {
          observedGeneration: 1,
          unavailableAllowed: 0,
          currentAvailable: 0,
          desiredAvailable: 0,
          totalReplicas: 0,
          disruptedPods: { ...recordOf(pods, "disrupted"), gone: ago(1) },
          unavailablePods: recordOf(pods, "unavailable"),
        },
      };
      const plan = planBudget({
        object,
        pods: pods.map(podOf),
        former: [],
        totalReplicas: of.total,
        isProtectedBy: (name) => name === "three" || name === "other",
        knownFor: () => Number.POSITIVE_INFINITY,
        now,
      });
      const { status } = plan;
      const want = expected(pods, of);
      const namesOf = (record: object | undefined) => Object.keys(record ?? {}).sort();
      t.strictSame(
        {
          unavailableAllowed: status.unavailableAllowed,
          currentAvailable: status.currentAvailable,
          desiredAvailable: status.desiredAvailable,
          totalReplicas: status.totalReplicas,
          disruptedPods: namesOf(status.disruptedPods),
          unavailablePods: namesOf(status.unavailablePods),
          notDeleted: plan.notDeleted.map(({ name }) => name).sort(),
          link: plan.link.map(({ name }) => name),
          requeueAfterMs: plan.requeueAfterMs,
        },
        want,
      );
      if (want.unavailableAllowed > 0) met.spends++;
      if (want.disruptedPods.length + want.unavailablePods.length > 0) met.held++;
      if (want.notDeleted.length > 0) met.expired++;
      if (want.currentAvailable - want.desiredAvailable > want.unavailableAllowed) met.marked++;
    }),
    { numRuns: 4_000, seed: 23 },
  );
  t.ok(
    Object.values(met).every((count) => count > 50),
    JSON.stringify(met),
  );
  t.end();
});
