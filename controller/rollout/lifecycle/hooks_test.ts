/** What becomes of a hook's mark, and of pods that it holds, when their update is given up. Spec: inplace-update 4.9, 4.10. */
import t from "tap";
import {
  cloneSet,
  defaultOptions as cloneSetDefaults,
  Model,
} from "../../../testkit/controller/clone_set_model.ts";
import {
  Model as StatefulSetModel,
  statefulSet,
  defaultOptions as statefulSetDefaults,
} from "../../../testkit/controller/stateful_set_model.ts";
import { randomOf, settle } from "../../../testkit/controller/workload_history.ts";
import { planCloneSet } from "../../kinds/clone_set/plan.ts";
import { cloneSetState } from "../../kinds/clone_set/state.ts";
import { planStatefulSet } from "../../kinds/stateful_set/plan.ts";
import { statefulSetState } from "../../kinds/stateful_set/state.ts";
import { conditionOf } from "../pods/pod_state.ts";
import type { Action } from "../writes/actions.ts";
import { STATE_LABEL } from "./lifecycle.ts";

const held = { "example.com/held": "true" };
const finalizer = "example.com/held";
const spec = (withFinalizer: boolean) => ({
  replicas: 3,
  podManagementPolicy: "Parallel",
  template: {
    metadata: { labels: { app: "web", ...held }, ...(withFinalizer ? { finalizers: [finalizer] } : {}) },
    spec: {
      readinessGates: [{ conditionType: "InPlaceUpdateReady" }, { conditionType: "KruisePodReady" }],
      containers: [{ name: "main", image: "app:1" }],
    },
  },
  lifecycle: {
    inPlaceUpdate: {
      labelsHandler: held,
      ...(withFinalizer ? { finalizersHandler: [finalizer] } : {}),
      markPodNotReady: true,
    },
  },
  updateStrategy: {
    type: "RollingUpdate",
    rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 3 },
  },
});

function cloneSetWorld(withFinalizer: boolean) {
  const model = new Model(cloneSet("web", spec(withFinalizer)));
  const random = randomOf(3);
  const plan = () =>
    planCloneSet(
      cloneSetState({ observed: model.observed(), options: cloneSetDefaults, now: model.now, random }),
    );
  return worldOf(model, plan, () => settle({ model, plan, perform: (action) => model.perform(action) }, 300));
}

function statefulSetWorld(withFinalizer: boolean) {
  const model = new StatefulSetModel(statefulSet("web", spec(withFinalizer)));
  const random = randomOf(3);
  const plan = () =>
    planStatefulSet(
      statefulSetState({ observed: model.observed(), options: statefulSetDefaults, now: model.now, random }),
    );
  return worldOf(model, plan, () => settle({ model, plan, perform: (action) => model.perform(action) }, 300));
}

function worldOf(
  model: Model | StatefulSetModel,
  plan: () => { readonly actions: readonly Action[] },
  settled: () => void,
) {
  settled();
  return {
    model,
    settled,
    image(image: string): void {
      model.changeSpec((each: { template: { spec: { containers: { image?: string }[] } } }) => {
        for (const container of each.template.spec.containers) container.image = image;
      });
    },
    rolling(change: { paused?: boolean; partition?: number }): void {
      model.changeSpec((each: { updateStrategy?: { rollingUpdate?: object } }) => {
        Object.assign(each.updateStrategy?.rollingUpdate ?? {}, change);
      });
    },
    /** Carries out a pass up to the first request of the first pod that is handed to its hook; the process dies then. */
    begin(): void {
      for (let pass = 0; pass < 4; pass++)
        for (const action of plan().actions) {
          const isHandedOver =
            action.type === "patch pod" && action.after.labels[STATE_LABEL] === "PreparingUpdate";
          model.perform(action, isHandedOver ? 1 : undefined);
          if (isHandedOver) return;
        }
      throw new Error("no pod is handed to its hook");
    },
    /** Who hooks the update lets go of the pods that it holds, or takes them back. */
    hook(isOn: boolean): void {
      for (const { name, labels } of model.owned()) {
        const { "example.com/held": _, ...others } = labels;
        if (!isOn && labels[STATE_LABEL] !== "PreparingUpdate") continue;
        model.change(name, {
          labels: isOn ? { ...labels, ...held } : others,
          finalizers: isOn ? [finalizer] : [],
        });
      }
    },
    states: () => model.owned().map(({ labels }) => labels[STATE_LABEL]),
    unready: () => model.owned().filter((pod) => conditionOf(pod, "Ready")?.status !== "True").length,
  };
}

for (const [kind, world] of Object.entries({ CloneSet: cloneSetWorld, StatefulSet: statefulSetWorld })) {
  t.test(`${kind}: whatever was written of an update that is given up, all pods serve again`, async (t) => {
    for (const withFinalizer of [false, true]) {
      for (const from of ["Normal", "Updated"]) {
        const at = world(withFinalizer);
        let [before, round] = ["app:1", 2];
        if (from === "Updated") {
          at.image("app:2");
          for (let pass = 0; pass < 6; pass++) {
            at.settled();
            at.hook(false);
          }
          at.settled();
          t.same(at.states(), ["Updated", "Updated", "Updated"]);
          [before, round] = ["app:2", 3];
        }
        at.image(`app:${round}`);
        at.begin();
        at.image(before);
        at.settled();
        at.hook(true);
        at.settled();
        const what = `${from}${withFinalizer ? ", with a finalizer" : ""}`;
        t.same([at.states(), at.unready()], [["Normal", "Normal", "Normal"], 0], what);
      }
    }
  });

  t.test(`${kind}: pods that are to stay as they are go back into service, hook or no hook`, async (t) => {
    for (const paused of [false, true]) {
      const at = world(false);
      at.image("app:2");
      at.settled();
      t.equal(at.states().filter((state) => state === "PreparingUpdate").length, 3);
      at.rolling({ partition: 2, paused });
      at.settled();
      t.equal(at.unready(), 1, "one is still to be updated");
      at.rolling({ partition: 3, paused });
      at.settled();
      t.same([at.states(), at.unready()], [["Normal", "Normal", "Normal"], 0]);
    }
  });

  t.test(`${kind}: a mark that another controller of this API left on a pod is taken away`, async (t) => {
    const at = world(false);
    const message = '[{"userAgent":"Lifecycle","key":"preUpdateHook"},{"userAgent":"other","key":"k"}]';
    for (const { name, conditions } of at.model.owned())
      at.model.change(name, {
        conditions: conditions.map((each) =>
          each.type === "KruisePodReady" ? { ...each, status: "False", message } : each,
        ),
      });
    at.settled();
    for (const pod of at.model.owned())
      t.match(conditionOf(pod, "KruisePodReady"), {
        status: "False",
        message: '[{"userAgent":"other","key":"k"}]',
      });
  });
}
