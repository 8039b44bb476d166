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

const whole = (min: number, max: number) => fc.integer({ min, max });
const orNone = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const specChange = fc.oneof(
  fc.record({ replicas: orNone(whole(0, 6)) }),
  fc.record({ parallelism: orNone(whole(0, 4)) }),
  fc.record({ paused: fc.boolean() }),
  fc.record({ activeDeadlineSeconds: orNone(whole(0, 30)) }),
  fc.record({ ttlSecondsAfterFinished: orNone(whole(0, 10)) }),
);
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant("pass" as const), refused: fc.constantFrom(0, 0, 1, 2) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("run" as const),
      pod: fc.nat(7),
      code: fc.constantFrom(0, 0, 0, 1),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("spec" as const), change: specChange }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("join" as const), age: fc.nat(59) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("go" as const, "end" as const, "taken" as const),
      pod: fc.nat(7),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("clock" as const), by: whole(-5, 10) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Pods of one job, and what the server and their kubelets do. */
class Scene {
  job: EphemeralJob;
  pods: Manifest[] = [];
  now = start;
  removed = false;
  refusing: string[] = [];
  /** UIDs of pods that were given the containers. */
  readonly given = new Set<string>();
  #count = 0;

  constructor(spec: object) {
    this.job = job(spec);
  }

  take(step: Step): void {
    const at = "pod" in step ? step.pod % Math.max(1, this.pods.length) : 0;
    const chosen = this.pods[at];
    if (step.do === "pass") this.pass(step.refused);
    else if (step.do === "spec") this.job = { ...this.job, spec: { ...this.job.spec, ...step.change } };
    else if (step.do === "join") this.pods.push(pod(`p${this.#count++}`, step.age));
    else if (step.do === "clock") this.now += step.by * 1000;
    else if (chosen === undefined) return;
    else if (step.do === "run") this.run(at, step.code);
    else if (step.do === "go") this.pods.splice(at, 1);
    else if (step.do === "end") this.pods[at] = { ...chosen, status: { ...chosen.status, phase: "Failed" } };
    else if (chosen.spec.ephemeralContainers === undefined) this.pods[at] = holds(chosen, "another");
  }

  /** `refused`: so many of the writes are. */
  pass(refused = 0): boolean {
    const { status: before, spec } = this.job;
    const next = plan(this.job, this.pods, this.now, this.refusing);
    if (next.remove) {
      if (!isFinished(next.status)) throw new Error("removed before its end");
      this.removed = true;
      return true;
    }
    if (isFinished(before) && next.inject.length > 0) throw new Error("goes on after its end");
    if (isFinished(before) && next.status.phase !== before?.phase) throw new Error("ended twice");
    if (spec.paused === true && next.inject.length > 0) throw new Error("goes on while it is paused");
    for (const [index, { name, uid }] of next.inject.entries()) {
      if (this.given.has(uid)) throw new Error(`${name} was given the containers twice`);
      if (index < refused) {
        this.refusing.push(uid);
        continue;
      }
      const at = this.pods.findIndex(({ metadata }) => metadata.uid === uid);
      const chosen = this.pods[at];
      if (chosen?.spec.ephemeralContainers !== undefined) throw new Error(`${name} is somebody else's`);
      this.given.add(uid);
      this.pods[at] = holds(chosen ?? pod(name), "j1");
    }
    if (next.inject.length > 0 && this.#busy() > (spec.parallelism ?? 1))
      throw new Error("too many are busy");
    this.job = { ...this.job, status: next.status };
    return next.inject.length > 0 || JSON.stringify(before) !== JSON.stringify(next.status);
  }

  #busy(): number {
    return this.pods.filter(({ metadata, status }) => {
      const state = status.ephemeralContainerStatuses?.[0]?.["state"];
      const isOver = Object.hasOwn(Object(state), "terminated") || status.phase !== "Running";
      return this.given.has(metadata.uid) && !isOver;
    }).length;
  }

  /** The kubelet starts the containers of a pod, or they end. */
  run(at: number, code: number): boolean {
    const chosen = this.pods[at];
    if (chosen === undefined || chosen.status.phase !== "Running" || !this.given.has(chosen.metadata.uid))
      return false;
    const state = chosen.status.ephemeralContainerStatuses?.[0]?.["state"];
    if (state !== undefined && !Object.hasOwn(Object(state), "running")) return false;
    this.pods[at] = holds(chosen, "j1", state === undefined ? { running: {} } : ended(code));
    return true;
  }

  codes(): (number | undefined)[] {
    const mine = this.pods.filter(
      ({ status, spec, metadata }) =>
        status.phase === "Running" &&
        (spec.ephemeralContainers === undefined || this.given.has(metadata.uid)),
    );
    return mine.map(({ status }) => {
      const { terminated } = Object(status.ephemeralContainerStatuses?.[0]?.["state"]);
      return terminated === undefined ? undefined : Object(terminated).exitCode;
    });
  }
}

t.test(
  "in random histories no more pods are busy than allowed, none twice, and every job ends",
  async (t) => {
    const run = fc.property(
      fc.array(specChange, { maxLength: 3 }),
      fc.array(step, { maxLength: 60 }),
      (first, steps) => {
        const scene = new Scene(Object.assign({}, ...first));
        for (let index = 0; index < 3; index++) scene.take({ do: "join", age: index });
        for (const each of steps) {
          scene.take(each);
          if (scene.removed) return;
        }
        const { activeDeadlineSeconds: _, ttlSecondsAfterFinished: __, ...spec } = scene.job.spec;
        scene.job = { ...scene.job, spec: { ...spec, paused: false, parallelism: 1 } };
        const wasFinished = isFinished(scene.job.status);
        let moved = true;
        for (let round = 0; moved && round < 100; round++) {
          moved = scene.pass();
          for (const index of scene.pods.keys()) moved = scene.run(index, 0) || moved;
          scene.now += 1000;
        }
        if (moved) throw new Error("it never rests");
        if (wasFinished) return;
        const codes = scene.codes();
        const done = codes.filter((code) => code !== undefined).length;
        const replicas = scene.job.spec.replicas ?? codes.length;
        const { phase, match } = scene.job.status ?? {};
        if (match !== Math.min(codes.length, replicas)) throw new Error(`${match} of ${codes.length}`);
        if (done < match) throw new Error(`${done} of ${match} are done`);
        const isOver = match > 0 && match === replicas;
        if (isFinished(scene.job.status) !== isOver) throw new Error(`${phase} with ${match} of ${replicas}`);
        if (isOver && !codes.includes(1) && phase !== "Succeeded") throw new Error(`${phase}: all went well`);
        if (isOver && phase === "Succeeded" && codes.filter((code) => code === 0).length < replicas)
          throw new Error("not all went well");
      },
    );
    fc.assert(run, { seed: 55, numRuns: 3000 });
    t.pass("held in all runs");
  },
);
