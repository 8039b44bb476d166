import t from "tap";
import { LateWrites } from "../../../testkit/controller/late_writes_model.ts";
import { noChance } from "../../../testkit/controller/no_chance.ts";
import { defaultOptions, Model, statefulSet } from "../../../testkit/controller/stateful_set_model.ts";
import { settle } from "../../../testkit/controller/workload_history.ts";
import { creationRoom, mostCreations } from "../../rollout/writes/creation_room.ts";
import { planStatefulSet } from "./plan.ts";
import { statefulSetState } from "./state.ts";

t.test("many pods in parallel are created in parts, from the lowest ordinal on, and none is missing", (t) => {
  const replicas = 2.5 * mostCreations;
  const model = new Model(statefulSet("app", { replicas, podManagementPolicy: "Parallel" }));
  const writes = new LateWrites();
  const plan = () => {
    const observed = {
      ...model.observed(model.index(writes.pods)),
      creationRoom: creationRoom(writes.size, writes.size > 0),
    };
    return planStatefulSet(
      statefulSetState({ observed, options: defaultOptions, now: model.now, random: noChance }),
    );
  };
  let most = 0;
  for (let pass = 0; model.pods.size < replicas && pass < 20; pass++) {
    const { actions, waiting } = plan();
    for (const action of actions) {
      if (action.type === "create pod") writes.begin(action, model.now);
      else model.perform(action);
    }
    const begun = model.pods.size + writes.size;
    const isPart = waiting.some(({ reason }) => reason === "Burst");
    t.equal(isPart, begun < replicas && begun > 0, `${begun} begun`);
    most = Math.max(most, writes.size);
    for (let count = 0; count < mostCreations / 3; count++)
      writes.answer(0, (action) => model.perform(action));
    t.equal(model.pods.has(`app-${model.pods.size}`), false, "the lowest ordinals are there");
  }
  t.equal(most, mostCreations);
  t.equal(model.pods.size, replicas);
  t.end();
});

t.test(
  "a pod that is wanted again is not made anew before its claims are the set's again: 4.10 rule 37",
  (t) => {
    for (const podManagementPolicy of ["OrderedReady", "Parallel"] as const) {
      const model = new Model(
        statefulSet("app", {
          replicas: 2,
          podManagementPolicy,
          persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete", whenDeleted: "Retain" },
          volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }],
        }),
      );
      let isClaimWritten = false;
      const plan = () =>
        planStatefulSet(
          statefulSetState({
            observed: { ...model.observed(), isClaimWritten: () => isClaimWritten },
            options: defaultOptions,
            now: model.now,
            random: noChance,
          }),
        );
      const settled = () => settle({ model, plan, perform: (action) => model.perform(action) }, 100);
      settled();
      const { uid } = model.pods.get("app-1") ?? {};
      model.changeSpec((spec) => {
        spec.replicas = 1;
      });
      const bindings = plan().actions;
      model.changeSpec((spec) => {
        spec.replicas = 2;
        spec.template.spec.containers = [{ name: "main", image: "app:2" }];
      });
      for (const action of plan().actions) model.perform(action);
      isClaimWritten = true;
      t.same(plan().actions, [], "until it is answered it may still arrive");
      isClaimWritten = false;
      for (const action of bindings) model.perform(action);
      t.match(model.claims.get("data-app-1")?.owners, [{ kind: "Pod", uid }], "to go with its pod");
      t.same(
        plan().actions.map(({ type }) => type),
        ["patch claim"],
      );
      const claim = model.claims.get("data-app-1")?.uid;
      settled();
      t.not(model.pods.get("app-1")?.uid, uid);
      t.equal(model.claims.get("data-app-1")?.uid, claim);
    }
    t.end();
  },
);
