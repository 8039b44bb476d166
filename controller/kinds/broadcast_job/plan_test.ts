import fc from "fast-check";
import t from "tap";
import { parallelismOf } from "../../../crds/index.ts";
import type { Node } from "../../../kube/index.ts";
import {
  broadcastJob,
  defaultOptions,
  Model,
  node,
} from "../../../testkit/controller/broadcast_job_model.ts";
import { nodeOf } from "../../rollout/pods/node_pods.ts";
import type { Action } from "../../rollout/writes/actions.ts";
import { PendingPods } from "../../rollout/writes/pending_pods.ts";
import type { BroadcastJobPlan } from "./decisions.ts";
import { planBroadcastJob } from "./plan.ts";
import { broadcastJobState } from "./state.ts";
import { broadcastJobStrategyOf, taskStateOf } from "./strategy.ts";

const minute = 60_000;

function endAll(model: Model, phase: "Succeeded" | "Failed"): void {
  for (const pod of model.active()) model.end(pod.name, phase);
}

t.test("each fitting node runs the pod once, and the job is complete", async (t) => {
  const model = new Model(broadcastJob(), ["a", "b"]);
  model.settle();
  t.equal(model.row(), "2 2 0 0");
  t.equal(model.set.status?.phase, "running");
  const pod = model.podOn("a");
  t.match(pod.name, /^task-[a-z0-9]{5}$/);
  t.match(pod.labels, { "broadcastjob-name": "task", "broadcastjob-controller-uid": "job-1" });
  t.match(pod.conditions, [{ type: "KruisePodReady", status: "True" }]);
  endAll(model, "Succeeded");
  model.settle();
  t.equal(model.row(), "2 0 2 0");
  const { status } = model.set;
  t.equal(status?.phase, "completed");
  t.match(status?.conditions, [
    {
      type: "Complete",
      status: "True",
      reason: "Complete",
      message: "Job completed, 2 pods succeeded, 0 pods failed",
    },
  ]);
  t.equal(status?.completionTime, status?.conditions?.[0]?.lastTransitionTime);
  t.match(model.events.at(-1), {
    reason: "JobComplete",
    message: "Job default/task is completed, 2 pods succeeded, 0 pods failed",
  });
  model.changeNode("c", {});
  t.same(model.plan().actions, [], "new nodes come too late");
  t.same(model.plan().status, status);
});

t.test("a pod is pinned to its node by the only term of its required affinity", async (t) => {
  const affinity = {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "disk", operator: "Exists" }] }],
      },
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: {} }],
    },
  };
  const model = new Model(broadcastJob({}, { affinity }), ["a"]);
  model.changeNode("b", { labels: { disk: "yes" } });
  const [create] = model.plan().actions;
  t.match(create, {
    type: "create pod",
    effects: [
      {
        body: {
          metadata: { ownerReferences: [{ apiVersion: "apps.kruise.io/v1beta1", controller: true }] },
          spec: {
            affinity: {
              nodeAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: {
                  nodeSelectorTerms: [
                    { matchFields: [{ key: "metadata.name", operator: "In", values: ["b"] }] },
                  ],
                },
                preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }],
              },
            },
          },
        },
      },
    ],
  });
});

t.test("parallelism: a number, a percentage rounded up, text read as a percentage, nothing", async (t) => {
  const names = ["a", "b", "c", "d", "e"];
  for (const [parallelism, active] of [
    [3, 3],
    ["50%", 3],
    ["50", 3],
    [0, 0],
    [undefined, 5],
  ] as const) {
    const model = new Model(broadcastJob(parallelism === undefined ? {} : { parallelism }), names);
    model.settle();
    t.equal(model.row(), `5 ${active} 0 0`, String(parallelism));
    if (active === 0) continue;
    for (let round = 0; round < 5; round++) {
      const first = model.active()[0];
      if (first !== undefined) model.end(first.name, "Succeeded");
      model.settle();
      t.ok(model.active().length <= active);
    }
    t.equal(model.row(), "5 0 5 0");
  }
});

t.test("lowered parallelism deletes nothing and is warned about", async (t) => {
  const model = new Model(broadcastJob({ parallelism: 2 }), ["a", "b"]);
  model.settle();
  model.changeSpec((spec) => {
    spec.parallelism = 1;
  });
  const { warnings, actions } = model.pass();
  t.match(warnings, [{ type: "Warning", reason: "TooManyActivePods" }]);
  t.same(actions, []);
});

t.test("FailFast: what is active goes and counts as failed; reported twice", async (t) => {
  const model = new Model(broadcastJob(), ["a", "b", "c"]);
  model.settle();
  model.end(model.podOn("a").name, "Failed");
  model.end(model.podOn("b").name, "Succeeded");
  model.pass();
  t.equal(model.row(), "3 0 1 2");
  t.equal(model.set.status?.phase, "failed");
  const words = "failure policy is FailurePolicyTypeFailFast and failed pod is found";
  t.match(model.set.status?.conditions, [{ type: "Failed", reason: "Failed", message: words }]);
  const reported = model.events.filter((event) => event.reason === "failed pod is found");
  t.same(
    reported.map((event) => event.message),
    [`${words}: 1 pods succeeded, 1 pods failed`, `${words}: 1 pods succeeded, 2 pods failed`],
  );
  model.settle();
  t.equal(model.row(), "3 0 1 2", "the counts stay");
  t.equal(model.owned().length, 2);
});

t.test("a failed job goes on deleting what a crash left alive", async (t) => {
  const model = new Model(broadcastJob(), ["a", "b"]);
  model.settle();
  model.end(model.podOn("a").name, "Failed");
  // The status was stored, the deletion was not sent.
  model.set = { ...model.set, status: model.plan().status };
  t.match(model.plan().actions, [{ type: "delete pod", pod: { nodeName: "b" } }]);
  model.settle();
  t.equal(model.owned().length, 1);
  t.equal(model.row(), "2 0 0 2");
});

t.test("a pod over its restart limit stays until the status says that the job has failed", async (t) => {
  const model = new Model(broadcastJob({}, { restartPolicy: "OnFailure" }), ["a", "b"]);
  model.settle();
  model.restart(model.podOn("a").name, 1);
  // The process dies before it has stored the status.
  for (const action of model.plan().actions) model.perform(action);
  for (const pod of model.owned()) model.place(pod.name);
  model.settle();
  t.equal(model.set.status?.phase, "failed");
  t.same(model.owned(), []);
});

t.test("Continue: failed pods are done", async (t) => {
  const model = new Model(broadcastJob({ failurePolicy: { type: "Continue" }, parallelism: 1 }), ["a", "b"]);
  model.settle();
  endAll(model, "Failed");
  model.settle();
  endAll(model, "Failed");
  model.settle();
  t.equal(model.row(), "2 0 0 2");
  t.equal(model.set.status?.conditions?.[0]?.message, "Job completed, 0 pods succeeded, 2 pods failed");
});

t.test(
  "Pause: reported once, kept over restarts, ended by Continue or by deleting the failed pod",
  async (t) => {
    const model = new Model(broadcastJob({ failurePolicy: { type: "Pause" }, parallelism: 1 }), ["a", "b"]);
    model.settle();
    endAll(model, "Failed");
    model.settle();
    model.settle();
    t.equal(model.row(), "2 0 0 1");
    t.equal(model.set.status?.phase, "paused");
    t.equal(model.reasons().filter((reason) => reason === "Paused").length, 1);
    t.match(model.plan().waiting, [{ reason: "FailedPod" }]);
    const failed = model.owned()[0];
    model.pods.delete(failed?.name ?? "");
    model.settle();
    t.equal(model.row(), "2 1 0 0");
    t.equal(model.reasons().filter((reason) => reason === "Continue").length, 1);
    endAll(model, "Failed");
    model.settle();
    model.changeSpec((spec) => {
      spec.failurePolicy = { type: "Continue" };
    });
    model.settle();
    endAll(model, "Failed");
    model.settle();
    t.equal(model.set.status?.phase, "completed");
    t.equal(model.row(), "2 0 0 2");
  },
);

t.test("restartLimit counts the restarts of one pod, init containers included", async (t) => {
  const policy = { type: "FailFast", restartLimit: 3 };
  const model = new Model(broadcastJob({ failurePolicy: policy }, { restartPolicy: "OnFailure" }), [
    "a",
    "b",
  ]);
  model.settle();
  model.restart(model.podOn("a").name, 3);
  model.settle();
  t.equal(model.row(), "2 2 0 0");
  model.change(model.podOn("a").name, { initRestarts: 1 });
  model.settle();
  t.equal(model.row(), "2 0 0 2");
  t.equal(model.owned().length, 0, "both are deleted");
});

t.test("with Continue a pod over its restart limit keeps the job from completing", async (t) => {
  const job = broadcastJob({ failurePolicy: { type: "Continue" } }, { restartPolicy: "OnFailure" });
  const model = new Model(job, ["a", "b"]);
  model.settle();
  model.restart(model.podOn("a").name, 1);
  model.end(model.podOn("b").name, "Succeeded");
  model.settle();
  t.equal(model.row(), "2 0 1 1");
  t.equal(model.set.status?.phase, "running");
  t.match(model.plan().waiting, [{ reason: "RestartLimit" }]);
  model.end(model.podOn("a").name, "Succeeded");
  model.settle();
  t.equal(model.set.status?.phase, "completed");
});

t.test("paused: counted, neither created nor failed nor out of time; resumed with an event", async (t) => {
  const model = new Model(broadcastJob({ paused: true, completionPolicy: { activeDeadlineSeconds: 5 } }), [
    "a",
  ]);
  model.settle();
  t.equal(model.row(), "1 0 0 0");
  t.equal(model.set.status?.phase, "paused");
  model.now += minute;
  model.settle();
  t.equal(model.set.status?.phase, "paused");
  model.changeSpec((spec) => {
    spec.paused = false;
    spec.completionPolicy = {};
  });
  model.settle();
  t.match(model.events[0], { reason: "Continue", message: "continue to process job" });
  t.equal(model.row(), "1 1 0 0");
});

t.test(
  "a deadline and a time to live that a clock an hour ahead has begun are counted from now on",
  async (t) => {
    const completionPolicy = { activeDeadlineSeconds: 10, ttlSecondsAfterFinished: 30 };
    const model = new Model(broadcastJob({ completionPolicy }), ["a"]);
    model.now += 60 * minute;
    model.settle();
    model.now -= 60 * minute;
    t.equal(model.pass().requeueAfterMs, 10_000);
    model.now += 60 * minute;
    endAll(model, "Succeeded");
    model.settle();
    model.now -= 60 * minute;
    t.equal(model.pass().requeueAfterMs, 31_000);
    model.now += 31_000;
    model.pass();
    t.ok(model.deleted);
  },
);

t.test("deadline: watched in every pass, active pods are deleted and count as failed", async (t) => {
  const job = broadcastJob({ completionPolicy: { type: "Always", activeDeadlineSeconds: 10 } });
  const model = new Model(job, ["a", "b"]);
  t.equal(model.pass().requeueAfterMs, 10_000);
  model.now += 4000;
  t.equal(model.pass().requeueAfterMs, 6000, "also after a restart of the controller");
  model.now += 6000;
  t.match(model.plan().actions.slice(-2), [
    {
      type: "delete pod",
      effects: [{ succeeded: { event: { reason: "SuccessfulDelete", message: /^Delete pod: task-/ } } }],
    },
    { type: "event", event: { reason: "DeadlineExceeded" } },
  ]);
  model.settle();
  t.equal(model.row(), "2 0 0 2");
  t.match(model.set.status?.conditions, [
    { type: "Failed", message: "Job default/task was active longer than specified deadline" },
  ]);
  t.equal(model.reasons().filter((reason) => reason === "DeadlineExceeded").length, 1);
  t.notOk(model.deleted);
});

t.test("a deadline of no time is over before any pod is made", async (t) => {
  const job = broadcastJob({ completionPolicy: { type: "Always", activeDeadlineSeconds: 0 } });
  const model = new Model(job, ["a", "b"]);
  model.pass();
  t.equal(model.set.status?.phase, "failed");
  t.equal(model.row(), "2 0 0 0");
  t.same(model.owned(), []);
});

t.test("time to live: the job goes after it, at once for 0, never without it", async (t) => {
  for (const [seconds, waits] of [
    [30, 31_000],
    [0, 0],
    [undefined, undefined],
  ] as const) {
    const completionPolicy = seconds === undefined ? {} : { ttlSecondsAfterFinished: seconds };
    const model = new Model(broadcastJob({ completionPolicy }), ["a"]);
    model.settle();
    endAll(model, "Succeeded");
    model.pass();
    const { requeueAfterMs } = model.plan();
    if (waits === undefined) {
      t.equal(requeueAfterMs, undefined);
    } else if (waits > 0) {
      t.equal(requeueAfterMs, waits);
      model.now += waits - 1;
      model.pass();
      t.notOk(model.deleted);
      model.now += 1;
    }
    model.pass();
    t.equal(model.deleted, waits !== undefined, String(seconds));
  }
});

t.test("Never: no end, and a node that joins gets a pod", async (t) => {
  const model = new Model(broadcastJob({ completionPolicy: { type: "Never" } }), ["a"]);
  model.settle();
  endAll(model, "Succeeded");
  model.settle();
  t.equal(model.row(), "1 0 1 0");
  t.match(model.set.status, { phase: "running", conditions: undefined, completionTime: undefined });
  model.changeNode("b", {});
  model.settle();
  t.equal(model.row(), "2 1 1 0");
});

t.test("a node that no longer fits loses its active pod, a done one stays", async (t) => {
  const model = new Model(broadcastJob(), ["a", "b", "c"]);
  model.settle();
  model.end(model.podOn("a").name, "Succeeded");
  model.changeNode("a", { unschedulable: true });
  model.changeNode("b", { taints: [{ key: "k", value: "", effect: "NoExecute" }] });
  model.settle();
  t.equal(model.row(), "1 1 1 0");
  t.same(model.owned().map(nodeOf).sort(), ["a", "c"]);
});

// Rules 4 and 13.
t.test("a job is not complete before the pods of nodes that no longer fit are gone", async (t) => {
  const model = new Model(broadcastJob(), ["a", "b"]);
  model.settle();
  model.end(model.podOn("a").name, "Succeeded");
  model.changeNode("b", { unschedulable: true });
  const pod = model.podOn("b");
  const inFlight = new PendingPods().set(pod.uid, { ...pod, deletionAt: model.now });
  const { now } = model;
  const observed = model.observed(model.index(inFlight));
  const state = broadcastJobState({ observed, options: defaultOptions, now, random: Math.random });
  t.equal(planBroadcastJob(state).status.phase, "running", "the deletion may be refused");
  model.settle();
  t.equal(model.row(), "1 0 1 0");
  t.equal(model.set.status?.phase, "completed");
  t.same(model.owned().map(nodeOf), ["a"]);
});

t.test("a node that is gone holds up nothing", async (t) => {
  const model = new Model(broadcastJob(), ["a", "b"]);
  model.settle();
  model.end(model.podOn("a").name, "Succeeded");
  model.nodes.delete("b");
  model.settle();
  t.equal(model.row(), "1 0 1 0");
  t.equal(model.set.status?.phase, "completed");
});

t.test("without a node that fits the job runs on", async (t) => {
  const model = new Model(broadcastJob({}, { nodeSelector: { disk: "ssd" } }), ["a"]);
  model.settle();
  t.equal(model.row(), "0 0 0 0");
  t.equal(model.set.status?.phase, "running");
  t.match(model.plan().waiting, [{ reason: "NoNode" }]);
});

t.test("two pods on one node are reported; the newer one counts", async (t) => {
  const model = new Model(broadcastJob(), ["a"]);
  model.settle();
  const first = model.podOn("a");
  model.pods.set("task-zzzzz", {
    ...first,
    name: "task-zzzzz",
    uid: "second",
    createdAt: first.createdAt + 1,
  });
  const { warnings } = model.pass();
  t.match(warnings, [
    {
      reason: "DuplicatePodCreatedOnSameNode",
      message: "Duplicated pod task-zzzzz found on same node a",
    },
  ]);
});

t.test("the words of stopped pods are no failures of their own", async (t) => {
  const model = new Model(broadcastJob(), ["a", "b"]);
  model.settle();
  const { name } = model.podOn("a");
  model.deletePod(name);
  model.end(name, "Failed");
  model.pass();
  t.equal(model.row(), "2 1 0 0");
  t.equal(model.set.status?.phase, "running");
});

const labels = { disk: "ssd" };

const completion = fc.oneof(
  fc.constant({ type: "Never" }),
  fc.record({
    type: fc.constant("Always"),
    activeDeadlineSeconds: fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }),
    ttlSecondsAfterFinished: fc.option(fc.integer({ min: 0, max: 10 }), { nil: undefined }),
  }),
);
const specChange = fc.oneof(
  fc.record({ parallelism: fc.constantFrom(0, 1, 2, 3, "1%", "40%", "100%") }),
  fc.record({ paused: fc.boolean() }),
  fc.record({
    failurePolicy: fc.record({
      type: fc.constantFrom("FailFast", "Continue", "Continue", "Pause"),
      restartLimit: fc.integer({ min: 0, max: 2 }),
    }),
  }),
  fc.record({ completionPolicy: completion }),
);

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom("pass" as const, "schedule" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("clock" as const), by: fc.integer({ min: 0, max: 6 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom("end" as const, "delete" as const, "restart" as const, "forget" as const),
      pod: fc.nat(9),
      phase: fc.constantFrom("Succeeded" as const, "Succeeded" as const, "Failed" as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("node" as const),
      node: fc.nat(5),
      change: fc.constantFrom<Partial<Node> | undefined>(
        undefined,
        {},
        { unschedulable: true },
        { unschedulable: false },
        { taints: [{ key: "k", value: "", effect: "NoSchedule" }] },
        { taints: [] },
        { labels: {} },
        { labels },
        { allocatable: {} },
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("spec" as const), change: specChange }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("crash" as const), after: fc.nat(4) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function take(model: Checked, each: Step): void {
  const pods = model.owned();
  switch (each.do) {
    case "pass":
      model.pass();
      return;
    case "schedule":
      for (const pod of pods) model.place(pod.name);
      return;
    case "clock":
      model.now += each.by * 1000;
      return;
    case "end":
    case "delete":
    case "restart":
    case "forget": {
      const pod = pods[each.pod % Math.max(1, pods.length)];
      if (pod === undefined || pod.nodeName === "") return;
      if (each.do === "delete") model.deletePod(pod.name);
      // By force, or by the collection of what has ended.
      else if (each.do === "forget") model.pods.delete(pod.name);
      else if (pod.phase !== "Running") return;
      else if (each.do === "end") model.end(pod.name, each.phase);
      else model.restart(pod.name, 1);
      return;
    }
    case "node": {
      const name = `n${each.node}`;
      if (each.change === undefined) model.nodes.delete(name);
      else model.changeNode(name, { labels, ...model.nodes.get(name), ...each.change });
      return;
    }
    case "spec":
      model.changeSpec((spec) => Object.assign(spec, each.change));
      return;
    case "crash":
      // Some actions were carried out, the status was not stored.
      for (const action of model.plan().actions.slice(0, each.after)) model.perform(action);
  }
}

/** Holds each write to the rules as it is made. */
class Checked extends Model {
  /** The last pass decided that the job has failed. */
  #fails = false;

  override perform(action: Action): void {
    const { spec, status } = this.set;
    const hasFailed = status?.conditions?.some(({ type }) => type === "Failed") ?? false;
    const isOver = status?.conditions !== undefined;
    const { restartLimit } = broadcastJobStrategyOf(this.set);
    const live = this.active().filter(
      (pod) => this.nodes.has(nodeOf(pod)) && taskStateOf(pod, restartLimit) === "active",
    );
    if (action.type === "create pod") {
      if (spec.paused === true || isOver) throw new Error("created by a job that is paused or over");
      const name = nodeOf(action.after);
      if (!this.fits(name)) throw new Error(`created for ${name}, which it does not fit`);
      if (this.owned().some((pod) => nodeOf(pod) === name)) throw new Error(`a second pod on ${name}`);
      const desired = [...this.nodes.keys()].filter((each) => this.fits(each)).length;
      if (live.length >= parallelismOf(spec.parallelism ?? 99, desired))
        throw new Error("too many at a time");
    }
    if (action.type === "delete pod") {
      const { pod } = action;
      if (this.ownedPod(pod.name)?.phase === "Succeeded") throw new Error("deletes what has succeeded");
      const isEvidence = taskStateOf(pod, restartLimit) === "over";
      const goes = hasFailed || (this.#fails && !isEvidence);
      if (!goes && (spec.paused === true || this.fits(nodeOf(pod)) || !this.nodes.has(nodeOf(pod))))
        throw new Error(`deletes ${pod.name}`);
    }
    if (action.type === "delete workload") {
      const ttl = spec.completionPolicy?.ttlSecondsAfterFinished ?? Number.NaN;
      if (!(this.now >= Date.parse(status?.completionTime ?? "") + ttl * 1000))
        throw new Error("deleted too early");
    }
    super.perform(action);
  }

  override plan(): BroadcastJobPlan {
    const plan = super.plan();
    this.#fails = plan.status.phase === "failed";
    return plan;
  }

  fits(name: string): boolean {
    const found = this.nodes.get(name);
    return (
      found !== undefined &&
      !found.unschedulable &&
      found.taints.length === 0 &&
      found.labels["disk"] === "ssd" &&
      found.allocatable["pods"] !== undefined
    );
  }
}

t.test("property: whatever happens, rules hold; left alone, every job ends", async (t) => {
  const run = fc.property(
    fc.array(specChange, { maxLength: 4 }),
    fc.constantFrom("Never", "OnFailure"),
    fc.array(step, { minLength: 5, maxLength: 60 }),
    (first, restartPolicy, steps) => {
      const spec = Object.assign({}, ...first);
      const model = new Checked(broadcastJob(spec, { restartPolicy, nodeSelector: labels }), []);
      for (const name of ["n0", "n1", "n2"]) model.changeNode(name, { labels });
      let last = "";
      for (const each of steps) {
        take(model, each);
        if (model.deleted) return;
        const { status } = model.set;
        if (last !== "") t.equal(JSON.stringify(status), last, "an ended job is as it was");
        else if (status?.conditions !== undefined) last = JSON.stringify(status);
      }
      model.changeNode("n0", { ...node("n0"), labels });
      model.changeSpec((spec) => {
        spec.paused = false;
        spec.parallelism = 1;
        if (spec.failurePolicy?.type === "Pause") spec.failurePolicy = { type: "Continue" };
      });
      for (let round = 0; round < 30 && !model.deleted; round++) {
        model.settle();
        for (const pod of model.active()) model.end(pod.name, "Succeeded");
        model.now += 1000;
      }
      if (model.deleted) return;
      const { status } = model.settle();
      if (status.active !== 0) throw new Error("not all ended");
      const names = [...model.nodes.keys()].filter((name) => model.fits(name));
      if (model.set.spec.completionPolicy?.type === "Never" && status.conditions === undefined) {
        if (status.desired !== names.length) throw new Error(`${status.desired} of ${names.length}`);
        for (const name of names) model.podOn(name);
        if (model.plan().actions.length > 0) throw new Error("goes on");
      } else if (status.conditions?.length !== 1) throw new Error("not over");
      if (model.set.spec.completionPolicy?.ttlSecondsAfterFinished !== undefined) {
        model.now += 12_000;
        model.pass();
        if (!model.deleted) throw new Error("outlives its time");
      }
    },
  );
  fc.assert(run, { seed: 1, numRuns: 1200 });
  t.pass("held in all runs");
});
