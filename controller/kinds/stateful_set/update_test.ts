import t from "tap";
import { isPodWrite, LateWrites } from "../../../testkit/controller/late_writes_model.ts";
import { noChance } from "../../../testkit/controller/no_chance.ts";
import { defaultOptions, Model, statefulSet } from "../../../testkit/controller/stateful_set_model.ts";
import { STATE_LABEL } from "../../rollout/lifecycle/lifecycle.ts";
import { SPECIFIED_DELETE } from "../../rollout/pods/pod_state.ts";
import { planStatefulSet } from "./plan.ts";
import { statefulSetState } from "./state.ts";

function plan(model: Model) {
  return planStatefulSet(
    statefulSetState({
      observed: model.observed(),
      options: defaultOptions,
      now: model.now,
      random: noChance,
    }),
  );
}

/** One pass with all its writes; names of pods that were created, deleted or given an image. */
function pass(model: Model): string[] {
  const { actions, status } = plan(model);
  const done: string[] = [];
  for (const action of actions) {
    model.perform(action);
    if (action.type === "create pod") done.push(`create ${action.after.name}`);
    if (action.type === "delete pod") done.push(`delete ${action.pod.name}`);
    if (action.type === "patch pod" && action.concern === "update") done.push(`update ${action.pod.name}`);
  }
  model.set = { ...model.set, status };
  return done;
}

function nodes(model: Model): void {
  for (let round = 0; round < 4; round++) for (const name of [...model.pods.keys()]) model.kubelet(name);
  model.now += 100;
}

function settle(model: Model): void {
  for (let round = 0; round < 60; round++) {
    pass(model);
    nodes(model);
    model.now += 1000;
  }
}

function toImage(model: Model, image: string): void {
  model.changeSpec((spec) => {
    for (const container of spec.template.spec.containers) container.image = image;
  });
}

/** Runs until a pass has no work for pods; the passes that had some. */
function passes(model: Model): string[][] {
  const all: string[][] = [];
  for (let round = 0; round < 40; round++) {
    const done = pass(model);
    if (done.length > 0) all.push(done);
    nodes(model);
  }
  return all;
}

const rolling = (rollingUpdate: object) => ({ updateStrategy: { type: "RollingUpdate", rollingUpdate } });

t.test("OrderedReady goes up one by one and updates from the top", async (t) => {
  const model = new Model(statefulSet("app"));
  t.same(
    passes(model),
    [[], [], []].map((_, index) => [`create app-${index}`]),
  );
  toImage(model, "app:2");
  const words = passes(model).flat();
  t.same(
    words,
    [2, 1, 0].flatMap((ordinal) => [`delete app-${ordinal}`, `create app-${ordinal}`]),
  );
});

t.test("Parallel creates and updates several at once, and scales in from the top", async (t) => {
  const model = new Model(
    statefulSet("app", { replicas: 5, podManagementPolicy: "Parallel", ...rolling({ maxUnavailable: 3 }) }),
  );
  t.same(passes(model)[0], ["create app-0", "create app-1", "create app-2", "create app-3", "create app-4"]);
  toImage(model, "app:2");
  const update = passes(model);
  t.same(update[0], ["delete app-4", "delete app-3", "delete app-2"]);
  model.changeSpec((spec) => {
    spec.replicas = 2;
  });
  t.same(passes(model)[0], ["delete app-4", "delete app-3", "delete app-2"]);
});

t.test("OrderedReady: with all pods unready nothing is scaled in", async (t) => {
  const model = new Model(statefulSet("app"));
  settle(model);
  for (const pod of model.owned())
    model.change(pod.name, { conditions: pod.conditions.filter((one) => one.type !== "Ready") });
  model.changeSpec((spec) => {
    spec.replicas = 0;
  });
  t.same(pass(model), []);
  t.match(plan(model).waiting[0], { reason: "OrderedReady" });
});

t.test(
  "pods that a hook has let go are gone on with, whichever they are, when the budget has shrunk meanwhile",
  async (t) => {
    for (const policy of ["ReCreate", "InPlaceIfPossible"])
      for (let which = 1; which < 16; which++) {
        const model = new Model(
          statefulSet("app", {
            replicas: 4,
            podManagementPolicy: "Parallel",
            lifecycle: { preDelete: { labelsHandler: { held: "true" } } },
            ...rolling({ maxUnavailable: 1, podUpdatePolicy: policy }),
          }),
        );
        settle(model);
        toImage(model, "app:2");
        for (const name of [0, 1, 2, 3].filter((bit) => (which >> bit) & 1).map((bit) => `app-${bit}`)) {
          const labels = model.pods.get(name)?.labels ?? {};
          model.change(name, { labels: { ...labels, [STATE_LABEL]: "PreparingDelete" } });
        }
        settle(model);
        const images = model.owned().map((pod) => pod.containers[0]?.image);
        t.same(images, Array(4).fill("app:2"), `${policy}, asked about ${which.toString(2)}`);
      }
  },
);

t.test("specified deletion takes the budget first, whatever the partition", async (t) => {
  const model = new Model(
    statefulSet("app", { podManagementPolicy: "Parallel", ...rolling({ partition: 3 }) }),
  );
  settle(model);
  for (const name of ["app-0", "app-1"]) {
    const labels = model.pods.get(name)?.labels ?? {};
    model.change(name, { labels: { ...labels, [SPECIFIED_DELETE]: "true" } });
  }
  t.same(pass(model), ["delete app-1"]);
  nodes(model);
  t.same(pass(model), ["create app-1"]);
  nodes(model);
  settle(model);
  t.notOk(model.owned().some((pod) => SPECIFIED_DELETE in pod.labels));
});

for (const podManagementPolicy of ["Parallel", "OrderedReady"]) {
  t.test(`${podManagementPolicy}: a released hook lets the update and the deletion go on`, async (t) => {
    const hook = { labelsHandler: { held: "true" } };
    const model = new Model(
      statefulSet("app", {
        podManagementPolicy,
        lifecycle: { inPlaceUpdate: hook, preDelete: hook },
        ...rolling({ podUpdatePolicy: "InPlaceIfPossible" }),
      }),
    );
    model.changeSpec((spec) => {
      spec.template.metadata = { labels: { app: "app", held: "true" } };
    });
    settle(model);
    toImage(model, "app:2");
    settle(model);
    const pod = () => model.pods.get("app-2");
    t.equal(pod()?.labels[STATE_LABEL], "PreparingUpdate");
    t.equal(pod()?.containers[0]?.image, "app:1");
    model.change("app-2", { labels: { ...pod()?.labels, held: "false" } });
    settle(model);
    t.equal(pod()?.containers[0]?.image, "app:2");
    t.equal(pod()?.labels[STATE_LABEL], "Updated", "waits for the hook to come back");
    model.change("app-2", { labels: { ...pod()?.labels, held: "true" } });
    settle(model);
    t.equal(pod()?.labels[STATE_LABEL], "Normal");
    t.equal(model.pods.get("app-1")?.labels[STATE_LABEL], "PreparingUpdate", "the next one");
    model.change("app-1", { labels: { ...model.pods.get("app-1")?.labels, held: "false" } });
    settle(model);
    t.equal(model.pods.get("app-1")?.containers[0]?.image, "app:2");
  });
}

t.test(
  "OrderedReady: a pod that serves until its hook is answered holds no other one back: rule 35",
  async (t) => {
    const held = { labelsHandler: { held: "true" } };
    const model = new Model(
      statefulSet("app", {
        replicas: 1,
        lifecycle: { preDelete: held },
        ...rolling({ podUpdatePolicy: "ReCreate" }),
      }),
    );
    model.changeSpec((spec) => {
      spec.template.metadata = { labels: { app: "app", held: "true" } };
    });
    settle(model);
    model.changeSpec((spec) => {
      spec.replicas = 0;
    });
    settle(model);
    const asked = () => model.pods.get("app-0")?.labels[STATE_LABEL];
    t.equal(asked(), "PreparingDelete");
    model.changeSpec((spec) => {
      spec.replicas = 3;
    });
    toImage(model, "app:2");
    settle(model);
    t.same([...model.pods.keys()].sort(), ["app-0", "app-1", "app-2"]);
    t.equal(asked(), "PreparingDelete");
    model.change("app-0", { labels: { ...model.pods.get("app-0")?.labels, held: "false" } });
    settle(model);
    t.equal(model.pods.get("app-0")?.containers[0]?.image, "app:2");
  },
);

t.test("a pod in its grace period that is retargeted gets everything that was not issued", async (t) => {
  const inPlace = { podUpdatePolicy: "InPlaceIfPossible", inPlaceUpdateStrategy: { gracePeriodSeconds: 20 } };
  const model = new Model(
    statefulSet("app", { replicas: 1, podManagementPolicy: "Parallel", ...rolling(inPlace) }),
  );
  model.changeSpec((spec) => {
    spec.template.spec.containers.push({ name: "side", image: "side:1" });
  });
  settle(model);
  toImage(model, "app:2");
  model.changeSpec((spec) => {
    const [, side] = spec.template.spec.containers;
    if (side !== undefined) side.image = "side:1";
  });
  pass(model);
  pass(model);
  t.equal(model.pods.get("app-0")?.containers[0]?.image, "app:1", "in its grace period");
  model.changeSpec((spec) => {
    const [, side] = spec.template.spec.containers;
    if (side !== undefined) side.image = "side:2";
  });
  settle(model);
  t.same(
    model.pods.get("app-0")?.containers.map(({ image }) => image),
    ["app:2", "side:2"],
  );
});

t.test("claims go with pods that are scaled in, and only with them", async (t) => {
  const model = new Model(
    statefulSet("app", {
      podManagementPolicy: "Parallel",
      persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete", whenDeleted: "Delete" },
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }],
    }),
  );
  settle(model);
  t.same([...model.claims.keys()].sort(), ["data-app-0", "data-app-1", "data-app-2"]);
  t.match(model.claims.get("data-app-0")?.owners, [{ kind: "StatefulSet", uid: "set-app" }]);
  model.changeSpec((spec) => {
    spec.reserveOrdinals = [1];
  });
  const words = passes(model).flat();
  t.ok(words.includes("delete app-1") && words.includes("create app-3"), words.join());
  t.same([...model.claims.keys()].sort(), ["data-app-0", "data-app-2", "data-app-3"]);
  model.deletePod("app-0");
  settle(model);
  t.ok(model.pods.has("app-0") && model.claims.has("data-app-0"), "a pod deleted by hand keeps its claim");
});

t.test("orphans are adopted without a restart, foreign pods of a wanted name are left alone", async (t) => {
  const model = new Model(statefulSet("app", { podManagementPolicy: "Parallel" }));
  settle(model);
  const before = model.owned().map((pod) => pod.uid);
  for (const pod of model.owned()) model.change(pod.name, { controller: undefined });
  settle(model);
  t.same(
    model.owned().map((pod) => pod.uid),
    before,
  );
  model.change("app-1", { labels: {}, controller: undefined });
  settle(model);
  t.equal(model.owned().length, 2);
  t.match(
    plan(model).waiting.map(({ reason }) => reason),
    ["NameTaken"],
  );
  const text = 'pods "app-1" already exists, and is not the set\'s';
  const reported = model.events.filter(({ reason }) => reason === "FailedCreate");
  t.match(reported, [{ message: `create Pod app-1 in StatefulSet app failed error: ${text}` }]);
  t.equal(reported.length, 1, "once");
  const message = `StatefulPodControl failed to create Pod error: ${text}`;
  t.match(model.set.status?.conditions, [{ type: "FailedCreatePod", status: "True", message }]);
  model.deletePod("app-1");
  settle(model);
  t.equal(model.owned().length, 3);
  t.equal(model.set.status?.conditions, undefined);
});

t.test(
  "pods of a built-in set are adopted without a restart where only the defaulted pull policy differs",
  async (t) => {
    const template = (policy: string, image = "app:1") => ({
      metadata: { labels: { app: "app" } },
      spec: { containers: [{ name: "main", image, imagePullPolicy: policy }] },
    });
    const model = new Model(statefulSet("app", { template: template("IfNotPresent") }));
    settle(model);
    const before = model.owned().map((pod) => [pod.uid, pod.name]);
    for (const pod of model.owned()) model.change(pod.name, { controller: undefined });
    for (const [name, revision] of model.revisions) model.revisions.set(name, { ...revision, owners: [] });
    model.set = statefulSet("app", { template: template("Always") });
    settle(model);
    t.same(
      model.owned().map((pod) => [pod.uid, pod.name]),
      before,
    );
    t.equal(model.revisions.size, 2);
    for (const { owners } of model.revisions.values())
      t.match(owners, [{ kind: "StatefulSet", uid: "set-app" }]);
    const { updateRevision } = model.set.status ?? {};
    t.match(model.set.status, { updatedReplicas: 3, readyReplicas: 3, currentRevision: updateRevision });
    model.changeSpec((spec) => {
      spec.template = template("IfNotPresent");
    });
    settle(model);
    t.notSame(
      model.owned().map((pod) => pod.uid),
      before.map(([uid]) => uid),
      "a policy that somebody changes later counts",
    );
  },
);

t.test("what keeps a pod from a node, and owned pods without an ordinal, are reported", async (t) => {
  const model = new Model(statefulSet("app"));
  settle(model);
  const pod = model.pods.get("app-0");
  if (pod === undefined) throw new Error("app-0 was not made");
  model.change("app-0", {
    nodeName: "",
    phase: "Pending",
    conditions: [
      {
        type: "PodScheduled",
        status: "False",
        reason: "Unschedulable",
        message: "no claim",
        lastTransitionAt: 0,
      },
    ],
  });
  model.pods.set("app-01", { ...pod, name: "app-01", uid: "by-hand" });
  const reported = plan(model).waiting.map(({ reason, message }) => `${reason}: ${message}`);
  t.match(reported, [
    "OrderedReady: pod app-0 is not available, for it has no node (no claim): everything else waits for it",
    /^NoOrdinal: pod app-01 has the set as its owner/,
  ]);
});

t.test(
  "the claims of pods whose creation is in flight are made with them, and nobody else makes them",
  async (t) => {
    const data = { metadata: { name: "data" }, spec: { resources: { requests: { storage: "1Gi" } } } };
    const model = new Model(
      statefulSet("app", { podManagementPolicy: "Parallel", volumeClaimTemplates: [data] }),
    );
    const writes = new LateWrites();
    const decide = () => {
      const observed = model.observed(model.index(writes.pods));
      const { actions } = planStatefulSet(
        statefulSetState({ observed, options: defaultOptions, now: model.now, random: noChance }),
      );
      for (const action of actions) {
        if (isPodWrite(action)) writes.begin(action, model.now);
        else model.perform(action);
      }
      return actions.map(({ type }) => type);
    };
    t.same(decide(), ["create revision"]);
    t.same(decide(), ["create pod", "create pod", "create pod"]);
    t.same(decide(), []);
    writes.answer(0, (action) => model.perform(action));
    model.claims.clear();
    t.equal(decide()[0], "create claim", "of a pod that is there, and lost it");
  },
);
