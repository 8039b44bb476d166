import fc from "fast-check";
import t from "tap";
import type { EphemeralJob, EphemeralJobStatus } from "../../../crds/index.ts";
import { applyStrategicPatch, type JsonObject } from "../../../kube/core/index.ts";
import { observedPod } from "../../native/observed_pod.ts";
import { injectionPatch } from "./inject.ts";
import type { JobPlan } from "./model.ts";
import { planEphemeralJob } from "./plan.ts";
import { removalFailure } from "./removal.ts";
import { isFinished } from "./status.ts";

const start = Date.parse("2026-01-01T00:00:00Z");

function job(spec: object = {}, status?: EphemeralJobStatus): EphemeralJob {
  return {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "EphemeralJob",
    metadata: { name: "look", namespace: "ns", uid: "j1" },
    spec: {
      selector: { matchLabels: { a: "b" } },
      template: { ephemeralContainers: [{ name: "look", image: "busybox" }] },
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  };
}

interface Manifest extends JsonObject {
  metadata: { name: string; uid: string; creationTimestamp: string };
  spec: { ephemeralContainers?: JsonObject[] };
  status: { phase: string; ephemeralContainerStatuses?: JsonObject[] };
}

function pod(name: string, age = 0): Manifest {
  const creationTimestamp = `2025-01-01T00:00:${String(age).padStart(2, "0")}Z`;
  return { metadata: { name, uid: `u-${name}`, creationTimestamp }, spec: {}, status: { phase: "Running" } };
}

function holds(manifest: Manifest, jobUid: string, state?: JsonObject, name = "look"): Manifest {
  const env = [{ name: "KRUISE_EJOB_ID", value: jobUid }];
  return {
    ...manifest,
    spec: { ephemeralContainers: [{ name, image: "busybox", env }] },
    status: {
      ...manifest.status,
      ...(state === undefined ? {} : { ephemeralContainerStatuses: [{ name, state }] }),
    },
  };
}

function plan(
  object: EphemeralJob,
  pods: readonly Manifest[],
  now = start,
  refusing: string[] = [],
): JobPlan {
  return planEphemeralJob({
    job: object,
    pods: pods.map((one) => observedPod(one)),
    refusing: new Set(refusing),
    now,
  });
}

const named = ({ inject }: JobPlan) => inject.map(({ name }) => name);
const ended = (exitCode: number) => ({ terminated: { exitCode } });
const row = ({ status }: JobPlan) =>
  [status.phase, status.match, status.succeeded, status.failed, status.running, status.waiting].join(" ");
const conditions = ({ status }: JobPlan) =>
  (status.conditions ?? []).map(({ type, reason }) => `${type} ${reason}`);

// Spec containers 5.2: schemaless; 5.4, rules 1 and 5.
t.test("what was stored as containers around admission stops neither the job nor its deletion", async (t) => {
  for (const ephemeralContainers of [null, {}, "look", 1, true]) {
    const odd = job({ template: { ephemeralContainers } });
    t.match(plan(odd, [pod("a")]), { inject: [], status: { phase: "Error", match: 1 } });
    t.equal(removalFailure(odd, [observedPod(holds(pod("a"), "j1"))])?.includes("1 pod (a)"), true);
  }
  const look = { name: "look", image: "busybox" };
  for (const items of [[null], [look, "look"], [{ ...look, env: [null] }], [{ ...look, env: {} }]]) {
    const odd = job({ template: { ephemeralContainers: items } });
    const { inject } = plan(odd, [pod("a")]);
    t.match(
      inject.map((each) => injectionPatch(odd, each)),
      [{ spec: { ephemeralContainers: items.map(() => ({ env: [{ value: "j1" }] })) } }],
      "the server says what is wrong with it",
    );
  }
});

t.test("the oldest pods first, one at a time unless more are allowed", async (t) => {
  const pods = [pod("c", 2), pod("b", 1), pod("a", 2)];
  t.same(named(plan(job(), pods)), ["b"]);
  t.same(named(plan(job({ parallelism: 5 }), pods)), ["b", "a", "c"]);
  t.same(named(plan(job({ parallelism: 5, replicas: 2 }), pods)), ["b", "a"]);
  t.same(named(plan(job({ parallelism: 0 }), pods)), []);
  t.same(
    named(plan(job(), pods, start, ["u-b"])),
    ["a"],
    "a pod that did not take them waits behind the others",
  );
});

t.test("a pod with the containers counts until they end, and keeps its place under the cap", async (t) => {
  const young = holds(pod("young", 9), "j1");
  t.same(named(plan(job(), [young, pod("old")])), []);
  t.equal(row(plan(job(), [young, pod("old")])), "Unknown 2 0 0 0 1");
  t.same(named(plan(job({ replicas: 1 }), [holds(pod("young", 9), "j1", ended(0)), pod("old")])), []);
  t.equal(
    row(plan(job({ replicas: 1 }), [holds(pod("young", 9), "j1", ended(0)), pod("old")])),
    "Succeeded 1 1 0 0 0",
  );
});

t.test("pods that hold the name for somebody else, and those that have ended, are none", async (t) => {
  const foreign = holds(pod("foreign"), "other");
  const done = { ...pod("done"), status: { phase: "Succeeded" } };
  const found = plan(job(), [foreign, done]);
  t.equal(row(found), "Waiting 0 0 0 0 0");
  t.same(conditions(found), ["Initialized Initialized", "MatchedEmpty MatchEmpty"]);
  t.same(named(plan(job(), [holds(pod("x"), "other", undefined, "another")])), ["x"]);
});

t.test("phases", async (t) => {
  const in_ = (state: JsonObject | undefined, name: string) => holds(pod(name), "j1", state);
  t.equal(row(plan(job(), [in_({ running: {} }, "a"), in_(ended(1), "b")])), "Running 2 0 1 1 0");
  t.equal(row(plan(job(), [in_({ waiting: { reason: "X" } }, "a")])), "Waiting 1 0 0 0 1");
  t.equal(row(plan(job(), [in_({ waiting: { reason: "RunContainerError" } }, "a")])), "Failed 1 0 1 0 0");
  const failed = plan(job(), [in_(ended(1), "a"), in_(ended(2), "b")]);
  t.equal(row(failed), "Failed 2 0 2 0 0");
  t.equal(failed.status.completionTime, "2026-01-01T00:00:00Z");
  t.same(conditions(failed), ["Initialized Initialized", "JobFailed JobFailed"]);
  t.equal(row(plan(job(), [in_(ended(0), "a"), in_(ended(2), "b")])), "Failed 2 1 1 0 0", "mixed ends, too");
  const some = plan(job({ replicas: 3 }), [in_(ended(0), "a"), in_(ended(2), "b")]);
  t.equal(row(some), "Unknown 2 1 1 0 0");
  t.same(conditions(some), ["Initialized Initialized", "JobFailed CreateFailed"]);
  const paused = plan(job({ paused: true }), [pod("a")]);
  t.equal(row(paused), "Paused 1 0 0 0 0");
  t.same(named(paused), []);
  const empty = plan(job({ template: { ephemeralContainers: [] } }), [pod("a")]);
  t.equal(row(empty), "Error 1 0 0 0 0");
  t.same(conditions(empty), ["Initialized Initialized", "JobError JobError"]);
  t.same(named(empty), []);
});

t.test("deadline and time to live", async (t) => {
  const running = [holds(pod("a"), "j1", { running: {} })];
  const status = { startTime: "2026-01-01T00:00:00Z" };
  const limited = { activeDeadlineSeconds: 20 };
  t.equal(plan(job(limited), running).requeueAfterMs, 20_000);
  t.equal(plan(job(limited, status), running, start + 5_000).requeueAfterMs, 15_000);
  const over = plan(job(limited, status), running, start + 20_000);
  t.equal(row(over), "Failed 1 0 0 1 0");
  t.match(over.status.conditions?.at(-1), {
    type: "JobFailed",
    reason: "DeadlineExceeded",
    message: "EphemeralJob ns/look was active longer than specified deadline",
  });
  t.equal(over.requeueAfterMs, 1_800_000, "half an hour unless said otherwise");
  const gone = plan(job({ ttlSecondsAfterFinished: 5 }, over.status), [], start + 25_000);
  t.ok(gone.remove);
  t.equal(plan(job({ ttlSecondsAfterFinished: 5 }, over.status), [], start + 24_000).requeueAfterMs, 1_000);
  t.equal(row(plan(job({}, over.status), [], start + 21_000)), "Failed 1 0 0 1 0", "it stays as it ended");
});

t.test("the status is stable while nothing changes", async (t) => {
  const pods = [holds(pod("a"), "j1", ended(1)), pod("b")];
  const first = plan(job(), pods);
  t.same(plan(job({}, first.status), pods, start + 60_000).status, first.status);
});

t.test("the patch adds the containers with the job's mark", async (t) => {
  const before = holds(pod("a"), "other", undefined, "another");
  const manifest = job({
    template: { ephemeralContainers: [{ name: "look", image: "i", env: [{ name: "A", value: "b" }] }] },
  });
  const after = observedPod(
    applyStrategicPatch(before, injectionPatch(manifest, observedPod(before)), "Pod"),
  );
  t.same(after.ephemeralContainers.map(({ name, env }) => [name, env["KRUISE_EJOB_ID"]]).sort(), [
    ["another", "other"],
    ["look", "j1"],
  ]);
});

const history = fc.record({
  pods: fc.integer({ min: 0, max: 8 }),
  replicas: fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined }),
  parallelism: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  /** Which pod's containers take their next step, and how they end. */
  steps: fc.array(fc.tuple(fc.nat(7), fc.integer({ min: 0, max: 2 })), { maxLength: 60 }),
});

t.test(
  "in random histories no more pods are busy than allowed, none twice, and an end is final",
  async (t) => {
    fc.assert(
      fc.property(history, ({ pods: count, replicas, parallelism, steps }) => {
        const pods = Array.from({ length: count }, (_, index) => pod(`p${index}`, index));
        const spec = {
          ...(replicas === undefined ? {} : { replicas }),
          ...(parallelism === undefined ? {} : { parallelism }),
        };
        let current = job(spec);
        const injected = new Set<string>();
        for (const [at, code] of [[0, 0] as const, ...steps]) {
          const before = current.status;
          const next = plan(current, pods);
          if (isFinished(before ?? {}) && JSON.stringify(next.status) !== JSON.stringify(before))
            throw new Error("it ended twice");
          for (const { name } of next.inject) {
            if (injected.has(name)) throw new Error(`${name} was given the containers twice`);
            injected.add(name);
            const index = pods.findIndex(({ metadata }) => metadata.name === name);
            pods[index] = holds(pods[index] ?? pod(name), "j1");
          }
          const busy = pods.filter(({ spec, status }) => {
            const state = status.ephemeralContainerStatuses?.[0]?.["state"];
            return spec.ephemeralContainers && !Object.hasOwn(Object(state), "terminated");
          });
          if (busy.length > (parallelism ?? 1)) throw new Error(`${busy.length} pods are busy`);
          if (injected.size > (replicas ?? count)) throw new Error("more pods than replicas");
          current = { ...current, status: plan(current, pods).status };
          const chosen = pods[at];
          if (chosen?.spec.ephemeralContainers === undefined) continue;
          const state = chosen.status.ephemeralContainerStatuses?.[0]?.["state"];
          if (state === undefined) pods[at] = holds(chosen, "j1", { running: {} });
          else if (Object.hasOwn(Object(state), "running"))
            pods[at] = holds(chosen, "j1", ended(code === 2 ? 1 : 0));
        }
        const { status } = current;
        const total =
          (status?.succeeded ?? 0) + (status?.failed ?? 0) + (status?.running ?? 0) + (status?.waiting ?? 0);
        if (total > (status?.match ?? 0)) throw new Error("pods are counted twice");
        if (status?.phase === "Succeeded" && status.succeeded !== (replicas ?? count))
          throw new Error("not all succeeded");
      }),
      { seed: 55, numRuns: 500 },
    );
    t.pass("held for 500 random histories");
  },
);
