/** Which pods come back that were about to be deleted. Spec: cloneset 4.8, rule 53. */
import fc from "fast-check";
import t from "tap";
import { cloneSet, defaultOptions, Model } from "../../../testkit/controller/clone_set_model.ts";
import { LateWrites } from "../../../testkit/controller/late_writes_model.ts";
import { randomOf, settle } from "../../../testkit/controller/workload_history.ts";
import { STATE_LABEL } from "../../rollout/lifecycle/lifecycle.ts";
import { SPECIFIED_DELETE } from "../../rollout/pods/pod_state.ts";
import { creationRoom, mostCreations } from "../../rollout/writes/creation_room.ts";
import { planCloneSet } from "./plan.ts";
import { cloneSetState } from "./state.ts";

const hook = "example.com/held";

/** What a set with these pods does in one pass. All of them are held by the hook. */
interface Situation {
  readonly replicas: number;
  readonly staying: number;
  readonly specified: number;
  /** About to be deleted: for the size of the set, and because they were specified. */
  readonly doomed: number;
  readonly doomedSpecified: number;
  readonly excludePreparingDelete: boolean;
  readonly maxSurge: number;
}

const situation: fc.Arbitrary<Situation> = fc.record({
  replicas: fc.nat(6),
  staying: fc.nat(4),
  specified: fc.nat(2),
  doomed: fc.nat(3),
  doomedSpecified: fc.nat(2),
  excludePreparingDelete: fc.boolean(),
  maxSurge: fc.nat(2),
});

function planOf(at: Situation) {
  const model = new Model(
    cloneSet("web", {
      replicas: at.staying + at.specified + at.doomed + at.doomedSpecified,
      template: {
        metadata: { labels: { app: "web", [hook]: "true" } },
        spec: { containers: [{ name: "main", image: "app:1" }] },
      },
      lifecycle: { preDelete: { labelsHandler: { [hook]: "true" } } },
    }),
  );
  const random = randomOf(23);
  const pass = () =>
    cloneSetState({ observed: model.observed(), options: defaultOptions, now: model.now, random });
  const plan = () => planCloneSet(pass());
  settle({ model, plan, perform: (action, stopAfter) => model.perform(action, stopAfter) }, 100);
  const names = [...model.pods.keys()];
  const mark = (count: number, labels: Record<string, string>) =>
    names.splice(0, count).map((name) => {
      const present = model.pods.get(name)?.labels ?? {};
      model.change(name, { labels: { ...present, ...labels } });
      return name;
    });
  const preparing = { [STATE_LABEL]: "PreparingDelete" };
  const doomed = mark(at.doomed, preparing);
  mark(at.doomedSpecified, { ...preparing, [SPECIFIED_DELETE]: "true" });
  mark(at.specified, { [SPECIFIED_DELETE]: "true" });
  model.changeSpec((spec) => {
    spec.replicas = at.replicas;
    spec.scaleStrategy = { excludePreparingDelete: at.excludePreparingDelete };
    spec.updateStrategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: at.maxSurge } };
  });
  return { doomed, ...planCloneSet(pass()) };
}

/** A set whose writes are answered when the test says so. */
function withLateWrites(spec: Parameters<typeof cloneSet>[1]) {
  const model = new Model(cloneSet("web", spec));
  const writes = new LateWrites();
  const random = randomOf(23);
  const plan = () => {
    const observed = {
      ...model.observed(model.index(writes.pods)),
      creationRoom: creationRoom(writes.size, writes.size > 0),
    };
    return planCloneSet(cloneSetState({ observed, options: defaultOptions, now: model.now, random }));
  };
  return { model, writes, plan };
}

const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: {} }];

t.test("as many come back as are missing beside those that stay, with the exclusion as without", (t) => {
  fc.assert(
    fc.property(situation, (at) => {
      const { actions, doomed } = planOf(at);
      const back = actions.flatMap((action) =>
        action.type === "patch pod" && action.after.labels[STATE_LABEL] === "PreparingNormal"
          ? [action.pod.name]
          : [],
      );
      const wanted = Math.min(at.doomed, Math.max(0, at.replicas - at.staying));
      t.equal(back.length, wanted, JSON.stringify(at));
      t.ok(back.every((name) => doomed.includes(name)));
      // What comes back is not made a second time.
      if (wanted > 0) t.notOk(actions.some(({ type }) => type === "create pod" || type === "delete pod"));
    }),
    { numRuns: 400, seed: 23 },
  );
  t.end();
});

t.test(
  "nothing is made in place of a pod whose way out is not answered yet: it comes back after that",
  (t) => {
    const held = { [hook]: "true" };
    const { model, writes, plan } = withLateWrites({
      replicas: 3,
      template: {
        metadata: { labels: { app: "web", ...held } },
        spec: { containers: [{ name: "main", image: "app:1" }] },
      },
      lifecycle: { preDelete: { labelsHandler: held } },
      scaleStrategy: { excludePreparingDelete: true },
    });
    const scale = (replicas: number) =>
      model.changeSpec((spec) => {
        spec.replicas = replicas;
      });
    settle({ model, plan, perform: (action) => model.perform(action) }, 100);
    const before = [...model.pods.keys()];
    scale(2);
    for (const action of plan().actions) writes.begin(action, model.now);
    t.equal(writes.size, 1);
    scale(3);
    t.same(plan().actions, []);
    writes.answer(0, (action) => model.perform(action));
    settle({ model, plan, perform: (action) => model.perform(action) }, 100);
    t.same([...model.pods.keys()], before);
    t.end();
  },
);

t.test("a set that shrinks while creations are under way keeps as many stored pods as it is to have", (t) => {
  let deleted = 0;
  fc.assert(
    fc.property(
      fc.record({ before: fc.nat(6), between: fc.nat(9), after: fc.nat(6), answered: fc.nat(4) }),
      fc.boolean(),
      fc.boolean(),
      ({ before, between, after, answered }, changes, paused) => {
        const { model, writes, plan } = withLateWrites({
          replicas: before,
          updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "100%", paused } },
        });
        settle({ model, plan, perform: (action) => model.perform(action) }, 100);
        model.changeSpec((spec) => {
          spec.replicas = between;
          for (const container of spec.template.spec.containers) if (changes) container.image = "app:2";
        });
        for (const action of plan().actions)
          if (action.type === "create pod") writes.begin(action, model.now);
        for (let count = 0; count < answered; count++) writes.answer(0, (action) => model.perform(action));
        model.changeSpec((spec) => {
          spec.replicas = after;
        });
        const stored = model.pods.size;
        const gone = plan().actions.filter(({ type }) => type === "delete pod").length;
        deleted += writes.size > 0 ? gone : 0;
        if (gone > Math.max(0, stored - after))
          throw new Error(`${gone} of ${stored} go, ${after} are to stay`);
      },
    ),
    { numRuns: 600, seed: 23 },
  );
  t.ok(deleted > 100, `${deleted} pods went while creations were under way`);
  t.end();
});

t.test("pods that a hook or an update in place keeps out of service are deleted at once", (t) => {
  const states = ["PreparingNormal", "PreparingUpdate", "Updating", "Updated"];
  for (const state of [...states, "Normal"]) {
    for (const how of ["scale in", "specified"]) {
      const model = new Model(cloneSet("web", { replicas: 5 }));
      const random = randomOf(23);
      const lifecycle = { preNormal: { labelsHandler: { never: "true" } } };
      const plan = () =>
        planCloneSet(
          cloneSetState({ observed: model.observed(), options: defaultOptions, now: model.now, random }),
        );
      settle({ model, plan, perform: (action) => model.perform(action) }, 100);
      const doomed: Record<string, string> = how === "specified" ? { [SPECIFIED_DELETE]: "" } : {};
      for (const pod of model.owned())
        model.change(pod.name, { labels: { ...pod.labels, ...doomed, [STATE_LABEL]: state } });
      model.changeSpec((spec) => {
        spec.lifecycle = lifecycle;
        if (how === "scale in") spec.replicas = 2;
      });
      const deleted = plan().actions.filter(({ type }) => type === "delete pod").length;
      const all = how === "scale in" ? 3 : 5;
      const limited = how === "scale in" ? 3 : 1;
      t.equal(deleted, state === "Normal" ? limited : all, `${how} of pods in ${state}`);
    }
  }
  t.end();
});

t.test("a claim has what its template says of it", (t) => {
  const metadata = {
    name: "data",
    labels: { tier: "db" },
    annotations: { backup: "daily" },
    finalizers: ["example.com/backup"],
  };
  const model = new Model(cloneSet("web", { replicas: 1, volumeClaimTemplates: [{ metadata, spec: {} }] }));
  const plan = () =>
    planCloneSet(
      cloneSetState({ observed: model.observed(), options: defaultOptions, now: model.now, random: () => 0 }),
    );
  for (const action of plan().actions) model.perform(action);
  const [creation] = plan().actions.flatMap((action) => (action.type === "create pod" ? action.effects : []));
  t.match(creation, {
    resource: "claims",
    body: {
      metadata: {
        name: "data-web-bbbbb",
        labels: { tier: "db", app: "web", "apps.kruise.io/cloneset-instance-id": "bbbbb" },
        annotations: { backup: "daily" },
        finalizers: ["example.com/backup"],
      },
    },
  });
  t.end();
});

t.test("a pod that its hook marked not ready is ready again when it comes back", (t) => {
  const held = { [hook]: "true" };
  const preDelete = { labelsHandler: held, markPodNotReady: true };
  const model = new Model(
    cloneSet("web", {
      replicas: 3,
      template: {
        metadata: { labels: { app: "web", ...held } },
        spec: {
          containers: [{ name: "main", image: "app:1" }],
          readinessGates: [{ conditionType: "KruisePodReady" }],
        },
      },
      lifecycle: { preDelete },
    }),
  );
  const random = randomOf(23);
  const plan = () =>
    planCloneSet(
      cloneSetState({ observed: model.observed(), options: defaultOptions, now: model.now, random }),
    );
  const settled = (replicas: number, markPodNotReady: boolean) => {
    model.changeSpec((spec) => {
      spec.replicas = replicas;
      spec.lifecycle = { preDelete: { ...preDelete, markPodNotReady } };
    });
    settle({ model, plan, perform: (action) => model.perform(action) }, 100);
    return model.available();
  };
  t.equal(settled(3, true), 3);
  t.equal(settled(2, true), 2);
  t.equal(model.pods.size, 3, "the third one is held");
  t.equal(settled(3, false), 3);
  t.equal(model.pods.size, 3);
  t.end();
});

t.test("a pod that is released keeps its claims, and its name is not used again", (t) => {
  for (const enablePVCReuse of [true, false]) {
    for (const keepsId of [true, false]) {
      const model = new Model(
        cloneSet("web", {
          replicas: 2,
          scaleStrategy: { enablePVCReuse },
          volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }],
        }),
      );
      const random = randomOf(23);
      const plan = () =>
        planCloneSet(
          cloneSetState({ observed: model.observed(), options: defaultOptions, now: model.now, random }),
        );
      const settled = () => settle({ model, plan, perform: (action) => model.perform(action) }, 100);
      settled();
      const [released] = model.owned();
      if (released === undefined) throw new Error("no pod was made");
      const { name, uid, labels } = released;
      model.change(name, { labels: { ...(keepsId ? labels : {}), app: "quarantine" } });
      t.equal(plan().status?.replicas, 1, "it is counted no more before that is stored: rule 1");
      settled();
      t.equal(model.pods.get(name)?.controller, undefined);
      t.match(model.claims.get(`data-${name}`)?.owners, [{ kind: "Pod", uid }]);
      model.changeSpec((spec) => {
        spec.replicas = 4;
      });
      settled();
      t.equal(model.available(), 4, enablePVCReuse ? "claims are used again" : "claims go with their pods");
      t.equal(model.claims.size, 5);
    }
  }
  t.end();
});

t.test("a set of many pods is created in parts; there are always some to send, and none is missing", (t) => {
  const replicas = 2.5 * mostCreations;
  const { model, writes, plan } = withLateWrites({ replicas: 0 });
  settle({ model, plan, perform: (action) => model.perform(action) }, 100);
  model.changeSpec((spec) => {
    spec.replicas = replicas;
  });
  let most = 0;
  for (let pass = 0; model.pods.size < replicas && pass < 20; pass++) {
    const { actions, waiting } = plan();
    for (const action of actions) writes.begin(action, model.now);
    const rest = replicas - model.pods.size - writes.size;
    t.equal(waiting.filter(({ reason }) => reason === "Burst").length, rest > 0 ? 1 : 0);
    t.ok(rest === 0 || writes.size > mostCreations / 2);
    most = Math.max(most, writes.size);
    for (let count = 0; count < mostCreations / 3; count++)
      writes.answer(0, (action) => model.perform(action));
  }
  t.equal(most, mostCreations);
  t.equal(model.pods.size, replicas);
  t.end();
});

t.test("a pod that somebody has taken from its set keeps its name and its claims", (t) => {
  for (const enablePVCReuse of [true, false]) {
    const spec = { replicas: 2, scaleStrategy: { enablePVCReuse }, volumeClaimTemplates };
    const { model, plan } = withLateWrites(spec);
    const settled = () => settle({ model, plan, perform: (action) => model.perform(action) }, 100);
    settled();
    const [taken] = model.owned();
    if (taken === undefined) throw new Error("no pod was made");
    model.change(taken.name, { controller: undefined });
    settled();
    t.equal(model.owned().length, 2);
    t.equal(model.pods.get(taken.name)?.uid, taken.uid);
    t.ok(model.claims.has(`data-${taken.name}`));
    t.equal(model.claims.size, 3);
  }
  t.end();
});

t.test(
  "claims are left to a pod that is inactive, not to one whose deletion may be refused: rule 20",
  (t) => {
    const { model, writes, plan } = withLateWrites({ replicas: 2, volumeClaimTemplates });
    settle({ model, plan, perform: (action) => model.perform(action) }, 100);
    model.changeSpec((spec) => {
      spec.replicas = 1;
    });
    for (const action of plan().actions) writes.begin(action, model.now);
    t.equal(writes.size, 1, "its deletion is not answered");
    t.same(plan().actions, []);
    t.end();
  },
);

t.test("a pod that waits for a claim which somebody has deleted gets it again", (t) => {
  for (const enablePVCReuse of [true, false]) {
    const spec = { replicas: 2, scaleStrategy: { enablePVCReuse }, volumeClaimTemplates };
    const { model, plan } = withLateWrites(spec);
    const settled = () => settle({ model, plan, perform: (action) => model.perform(action) }, 100);
    settled();
    const before = [...model.claims.keys()];
    const [first, second] = model.owned();
    if (first === undefined || second === undefined) throw new Error("no pods were made");
    for (const { name } of [first, second]) model.claims.delete(`data-${name}`);
    model.change(first.name, { nodeName: "", phase: "Pending", conditions: [] });
    settled();
    const again = [...model.claims.keys()];
    t.same(again, [`data-${first.name}`], "one that runs has its own until it goes");
    t.ok(before.includes(`data-${first.name}`));
    t.match([...model.claims.values()], [{ owners: [{ kind: "CloneSet" }] }]);
  }
  t.end();
});
