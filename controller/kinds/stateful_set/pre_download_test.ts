import t from "tap";
import { PullsAhead } from "../../../testkit/controller/image_pull_job_builder.ts";
import { noChance } from "../../../testkit/controller/no_chance.ts";
import { defaultOptions, Model, statefulSet } from "../../../testkit/controller/stateful_set_model.ts";
import { changeTemplate } from "../../../testkit/controller/workload_history.ts";
import { planStatefulSet } from "./plan.ts";
import { statefulSetState } from "./state.ts";

/** The spec of the job that pulls the next image ahead. */
function jobWith(annotations: Record<string, string>): unknown {
  const rollingUpdate = { podUpdatePolicy: "InPlaceIfPossible" };
  const set = statefulSet("web", {
    replicas: 4,
    podManagementPolicy: "Parallel",
    updateStrategy: { type: "RollingUpdate", rollingUpdate },
  });
  const model = new Model({ ...set, metadata: { ...set.metadata, annotations } });
  const pulls = new PullsAhead("app:2");
  let job: unknown;
  const plan = () => {
    const planned = planStatefulSet(
      statefulSetState({
        observed: { ...model.observed(), ...pulls.observed() },
        options: { ...defaultOptions, preDownload: true },
        now: model.now,
        random: noChance,
      }),
    );
    for (const action of planned.actions) {
      const [effect] = action.type === "create object" ? action.effects : [];
      if (effect?.type === "create") job = effect.body["spec"];
    }
    return planned;
  };
  pulls.settle({ model, plan }, 20);
  changeTemplate(model, "image", 2);
  pulls.settle({ model, plan }, 20);
  return job;
}

t.test("annotations say how images are pulled ahead, and what cannot be read says nothing", async (t) => {
  const parallelism = "apps.kruise.io/image-predownload-parallelism";
  const timeout = "apps.kruise.io/image-predownload-timeout-seconds";
  t.match(jobWith({}), { parallelism: 1, pullPolicy: { timeoutSeconds: 300 } });
  const given = { [parallelism]: "2", [timeout]: "60" };
  t.match(jobWith(given), { parallelism: 2, pullPolicy: { timeoutSeconds: 60 } });
  const unreadable = { [parallelism]: "many", [timeout]: "50%" };
  t.match(jobWith(unreadable), { parallelism: 1, pullPolicy: { timeoutSeconds: 300 } });
});
