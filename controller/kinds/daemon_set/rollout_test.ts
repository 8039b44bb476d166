/** Single decisions of DaemonSets that have an exact answer in the spec. */
import t from "tap";
import type { DaemonSet } from "../../../crds/index.ts";
import { revisionData } from "../../../kube/core/index.ts";
import type { ControllerRevision } from "../../../kube/index.ts";
import {
  daemonSet,
  defaultOptions,
  foreignPod,
  Model,
} from "../../../testkit/controller/daemon_set_model.ts";
import { changeTemplate } from "../../../testkit/controller/workload_history.ts";
import { STATE_LABEL } from "../../rollout/lifecycle/lifecycle.ts";
import { PlanMemory } from "../../rollout/plan_memory.ts";
import { isReady, readySince } from "../../rollout/pods/pod_state.ts";
import type { Action } from "../../rollout/writes/actions.ts";
import { budgetOf, burstOf, partitionOf } from "./numbers.ts";
import { planDaemonSet } from "./plan.ts";
import { findRevision } from "./revisions.ts";
import { daemonSetState } from "./state.ts";
import type { DaemonSetOptions } from "./strategy.ts";

const random = () => 0.5;
const chance = counter();

function plan(model: Model, options: Partial<DaemonSetOptions> = {}) {
  return planDaemonSet(
    daemonSetState({
      observed: model.observed(),
      options: { ...defaultOptions, ...options },
      now: model.now,
      random: chance,
    }),
  );
}

/** Names of generated pods must differ. */
function counter(): () => number {
  let state = 0;
  return () => {
    state = (state + 0.137) % 1;
    return state;
  };
}

function settle(model: Model): void {
  for (let round = 0; round < 300; round++) {
    const { actions, status } = plan(model);
    for (const action of actions) model.perform(action);
    model.set = { ...model.set, status };
    let moved = actions.length > 0;
    for (const name of [...model.pods.keys()]) if (model.kubelet(name)) moved = true;
    if (!moved) return;
    model.now += 50;
  }
  throw new Error("nothing settled");
}

const creations = (actions: readonly Action[]) =>
  actions.flatMap((action) =>
    action.type === "create pod" ? [action.after.pinnedTo ?? action.after.nodeName] : [],
  );
const tenNodes = Array.from({ length: 10 }, (_, index) => `node-${String(index + 1).padStart(2, "0")}`);

t.test("numbers of spec daemonset, scenario 12", async (t) => {
  t.equal(budgetOf("30%", 5), 2);
  t.equal(partitionOf("50%", 5), 2);
  t.equal(burstOf("50%", 5), 2);
  t.equal(burstOf("50%", 1), 1, "a percentage never stops everything");
  t.equal(burstOf("abc", 5), 250);
  t.equal(burstOf(0, 5), 0);
  t.equal(budgetOf(undefined, 5), 0);
});

t.test("a new pod: labels, owner, pin, tolerations, gate", async (t) => {
  const model = new Model(
    daemonSet({
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { rollingUpdateType: "InPlaceIfPossible" } },
      template: {
        metadata: { labels: { app: "app" }, annotations: { note: "x" }, finalizers: ["a/b"] },
        spec: {
          containers: [{ name: "main", image: "app:1" }],
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [
                  { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "Exists" }] },
                ],
              },
              preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: {} }],
            },
            podAntiAffinity: {},
          },
        },
      },
    }),
    ["node-1"],
  );
  model.set.metadata.annotations = { "deprecated.daemonset.template.generation": "7" };
  for (const action of plan(model).actions) model.perform(action);
  const [action] = plan(model).actions;
  if (action?.type !== "create pod") throw new Error("no pod is created");
  const hash = [...model.revisions.values()][0]?.labels["controller-revision-hash"];
  const { name } = action.after;
  t.match(name, /^app-[a-z0-9]{5}$/);
  const [creation] = action.effects;
  if (creation?.type !== "create") throw new Error("no pod is created");
  t.match(creation.body, {
    metadata: {
      generateName: "app-",
      labels: { app: "app", "controller-revision-hash": hash, "pod-template-generation": "7" },
      annotations: { note: "x" },
      finalizers: ["a/b"],
      ownerReferences: [{ apiVersion: "apps.kruise.io/v1beta1", kind: "DaemonSet", controller: true }],
    },
    spec: {
      readinessGates: [{ conditionType: "InPlaceUpdateReady" }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchFields: [{ key: "metadata.name", operator: "In", values: ["node-1"] }] },
            ],
          },
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }],
        },
        podAntiAffinity: {},
      },
    },
  });
  t.match(creation.succeeded?.event, { reason: "SuccessfulCreate", message: `Created pod: ${name}` });
  const [direct] = plan(model, { assignByScheduler: false }).actions;
  if (direct?.type !== "create pod") throw new Error("no pod is created");
  t.match(direct.effects, [
    { body: { spec: { nodeName: "node-1", schedulerName: "kubernetes.io/daemonset-controller" } } },
  ]);
});

t.test("progressive creation: the lowest names, as many as the partition leaves (rule 21)", async (t) => {
  const withPartition = (partition: number) => (spec: DaemonSet["spec"]) => {
    spec.updateStrategy = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, partition } };
    spec.scaleStrategy = { partitionedScaling: true };
  };
  const model = new Model(daemonSet(), tenNodes);
  const step = (partition: number): number => {
    model.changeSpec(withPartition(partition));
    settle(model);
    return model.owned().length;
  };
  t.equal(step(10), 0);
  t.equal(step(9), 1);
  t.equal(model.owned()[0]?.nodeName, "node-01");
  t.equal(step(5), 5);
  for (const name of ["node-11", "node-12"]) model.changeNode(name, {});
  settle(model);
  t.equal(model.owned().length, 7, "two nodes more, two pods more");
  t.equal(step(0), 12);
});

t.test("burstReplicas bounds creations and deletions at once", async (t) => {
  const model = new Model(daemonSet({ burstReplicas: 3 }), tenNodes);
  for (const action of plan(model).actions) model.perform(action);
  const first = plan(model);
  t.strictSame(creations(first.actions), tenNodes.slice(0, 3));
  t.match(first.waiting, [{ reason: "Burst" }]);
  for (const action of first.actions) model.writes.begin(action, model.now);
  t.strictSame(creations(plan(model).actions), [], "those under way count");
});

t.test("a pod that waits for a node that is gone is deleted, one that ran there is not", async (t) => {
  const model = new Model(daemonSet(), ["node-1"]);
  settle(model);
  const hash = model.set.status?.updateRevision ?? "";
  const owned = { group: "apps.kruise.io", kind: "DaemonSet", name: "app", uid: "set-app" };
  const labels = { app: "app", "controller-revision-hash": hash };
  model.place(foreignPod("app-lost1", "", { pinnedTo: "gone", controller: owned, labels, phase: "Pending" }));
  model.place(foreignPod("app-left1", "gone", { controller: owned, labels }));
  const deleted = plan(model).actions.flatMap((action) =>
    action.type === "delete pod" ? [action.pod.name] : [],
  );
  t.strictSame(deleted, ["app-lost1"]);
});

t.test("failed pods: the event, the wait, the replacement", async (t) => {
  const model = new Model(daemonSet(), ["node-1"]);
  settle(model);
  const [pod] = model.owned();
  model.change(pod?.name ?? "", { phase: "Failed", conditions: [] });
  const first = plan(model);
  t.strictSame(first.failedOn, ["node-1"]);
  t.match(first.actions, [
    {
      type: "event",
      event: {
        type: "Warning",
        reason: "FailedDaemonPod",
        message: `Found failed daemon pod default/${pod?.name} on node node-1, will try to kill it`,
      },
    },
    { type: "delete pod" },
  ]);
  model.failed.replaced("node-1");
  const second = plan(model);
  t.strictSame(second.actions, []);
  t.equal(second.requeueAfterMs, 1000);
  t.match(second.waiting, [{ reason: "BackOff" }]);
});

t.test("a set that selects everything is not acted on", async (t) => {
  const model = new Model(daemonSet({ selector: {} }));
  t.strictSame(plan(model).actions, [
    {
      type: "event",
      event: {
        type: "Warning",
        reason: "SelectingAll",
        message: "This DaemonSet is selecting all pods. A non-empty selector is required.",
      },
    },
  ]);
});

t.test("a set on its way out is left to the garbage collector", async (t) => {
  const model = new Model(daemonSet());
  model.set.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
  t.strictSame(plan(model).actions, []);
});

function revision(name: string, number: number, data: string, hash?: string): ControllerRevision {
  return {
    namespace: "default",
    name,
    uid: `uid-${name}`,
    resourceVersion: "1",
    generation: 1,
    labels: { app: "app", ...(hash === undefined ? {} : { "controller-revision-hash": hash }) },
    annotations: {},
    owners: [],
    finalizers: [],
    createdAt: number,
    deletionAt: undefined,
    revision: number,
    data,
  };
}

t.test("a revision with its defaults written out is the same revision", async (t) => {
  const native = {
    metadata: { labels: { app: "app" }, creationTimestamp: null },
    spec: {
      containers: [
        {
          name: "main",
          image: "app:1",
          imagePullPolicy: "IfNotPresent",
          resources: {},
          terminationMessagePath: "/dev/termination-log",
          terminationMessagePolicy: "File",
        },
      ],
      dnsPolicy: "ClusterFirst",
      restartPolicy: "Always",
      schedulerName: "default-scheduler",
      securityContext: {},
      terminationGracePeriodSeconds: 30,
    },
  };
  const data = JSON.stringify({ spec: { template: { $patch: "replace", ...native } } });
  const found = findRevision(
    daemonSet(),
    [revision("app-5d4f8", 3, data, "5d4f8")],
    () => undefined,
    new PlanMemory(),
  );
  t.match(found, { hash: "5d4f8", write: "none", update: { name: "app-5d4f8", number: 3 } });
});

t.test("pods of a second revision that means the same are relabelled, not replaced", async (t) => {
  const model = new Model(daemonSet(), ["node-1"]);
  settle(model);
  const [pod] = model.owned();
  const { template } = model.set.spec;
  const defaulted = {
    ...template,
    spec: { ...template.spec, dnsPolicy: "ClusterFirst", terminationGracePeriodSeconds: 30 },
  };
  model.revisions.set("app-late", revision("app-late", 7, revisionData(defaulted), "late"));
  settle(model);
  const [now] = model.owned();
  t.equal(now?.uid, pod?.uid);
  t.equal(now?.labels["controller-revision-hash"], "late");
  t.strictSame([...model.revisions.keys()], ["app-late"]);
  t.equal(model.set.status?.updatedNumberScheduled, 1);
});

t.test("an older revision of the same template is raised, a second one of it goes", async (t) => {
  const one = revisionData(daemonSet().spec.template);
  const other = revisionData({ ...daemonSet().spec.template, spec: { containers: [] } });
  const back = findRevision(
    daemonSet(),
    [revision("app-a", 1, one, "a"), revision("app-b", 2, other, "b")],
    () => undefined,
    new PlanMemory(),
  );
  t.match(back, { hash: "a", write: "renumber", update: { number: 3 } });
  const twice = findRevision(
    daemonSet(),
    [revision("app-a", 1, one, "a"), revision("app-b", 2, one, "b")],
    () => undefined,
    new PlanMemory(),
  );
  t.match(twice, { hash: "b", write: "none", duplicates: [{ name: "app-a" }] });
});

t.test("a name in use by another template counts the collision", async (t) => {
  const first = findRevision(daemonSet(), [], () => undefined, new PlanMemory());
  t.match(first.update.name, /^app-[bcdfghjklmnpqrstvwxz2456789]+$/);
  const taken = findRevision(
    daemonSet(),
    [],
    (name) => (name === first.update.name ? "{}" : undefined),
    new PlanMemory(),
  );
  t.equal(taken.collisionCount, 1);
  t.not(taken.update.name, first.update.name);
});

t.test("hooks: one pod at a time, and no way back (scenario 10)", async (t) => {
  const model = new Model(daemonSet({ lifecycle: { preDelete: { labelsHandler: { hold: "true" } } } }));
  model.changeSpec((spec) => {
    spec.template.metadata = { labels: { app: "app", hold: "true" } };
  });
  settle(model);
  model.changeSpec((spec) => {
    spec.template.spec.containers = [{ name: "main", image: "app:2" }];
  });
  settle(model);
  const preparing = () =>
    model.owned().filter((pod) => pod.labels["lifecycle.apps.kruise.io/state"] === "PreparingDelete");
  t.equal(model.owned().length, 3);
  t.equal(preparing().length, 1);
  const [held] = preparing();
  t.equal(held?.nodeName, "node-3", "the highest name first");
  model.changeSpec((spec) => {
    spec.template.spec.containers = [{ name: "main", image: "app:1" }];
  });
  settle(model);
  t.equal(preparing()[0]?.uid, held?.uid, "the template went back, the pod does not");
  model.change(held?.name ?? "", { labels: { ...held?.labels, hold: "gone" } });
  settle(model);
  t.equal(preparing().length, 0, "nobody else is held");
  t.notOk(model.pods.has(held?.name ?? ""));
  t.equal(model.owned().length, 3);
});

t.test(
  "a surge lets the old pod go when the new one has surely been ready long enough (scenario 11)",
  async (t) => {
    const rolling = { rollingUpdateType: "Standard", maxSurge: "100%", maxUnavailable: 0 } as const;
    const updateStrategy = { type: "RollingUpdate", rollingUpdate: rolling } as const;
    const model = new Model(daemonSet({ updateStrategy, minReadySeconds: 10 }), ["n1"]);
    settle(model);
    model.now += 60_000;
    changeTemplate(model, "image", 2);
    settle(model);
    const since = Math.max(...model.owned().map((pod) => readySince(pod) ?? 0));
    const at = (now: number) => {
      model.now = now;
      const { actions, requeueAfterMs } = plan(model);
      return { deletions: actions.filter(({ type }) => type === "delete pod").length, requeueAfterMs };
    };
    t.same(
      at(since + 10_000),
      { deletions: 0, requeueAfterMs: 1000 },
      "times of conditions are cut to seconds",
    );
    t.same(at(since + 11_000), { deletions: 1, requeueAfterMs: undefined });
  },
);

t.test(
  "of two pods of a node the one that stays and serves is not doomed, whatever the template becomes",
  async (t) => {
    const rolling = { rollingUpdateType: "Standard", maxSurge: "100%", maxUnavailable: 0 } as const;
    const lifecycle = { preDelete: { labelsHandler: { hold: "yes" } } };
    for (const last of [1, 3]) {
      const model = new Model(
        daemonSet({ updateStrategy: { type: "RollingUpdate", rollingUpdate: rolling }, lifecycle }),
        ["n1"],
      );
      model.changeSpec((spec) => {
        spec.template.metadata = { labels: { ...spec.template.metadata?.labels, hold: "yes" } };
      });
      settle(model);
      for (const version of [2, last]) {
        changeTemplate(model, "image", version);
        settle(model);
        const staying = model.owned().filter(({ labels }) => labels[STATE_LABEL] !== "PreparingDelete");
        t.ok(staying.some(isReady), `a pod serves after version ${version}`);
      }
    }
  },
);

t.test("random is used for names only", async (t) => {
  const model = new Model(daemonSet(), ["node-1"]);
  for (const action of plan(model).actions) model.perform(action);
  const once = planDaemonSet(
    daemonSetState({ observed: model.observed(), options: defaultOptions, now: model.now, random }),
  );
  const again = planDaemonSet(
    daemonSetState({ observed: model.observed(), options: defaultOptions, now: model.now, random }),
  );
  t.strictSame(once.actions, again.actions);
});
