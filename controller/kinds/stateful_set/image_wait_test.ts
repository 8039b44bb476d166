import t from "tap";
import { PullsAhead } from "../../../testkit/controller/image_pull_job_builder.ts";
import { noChance } from "../../../testkit/controller/no_chance.ts";
import { defaultOptions, Model, statefulSet } from "../../../testkit/controller/stateful_set_model.ts";
import { changeTemplate } from "../../../testkit/controller/workload_history.ts";
import { WAIT_FOR_IMAGE_ANNOTATION } from "../../rollout/images/image_wait.ts";
import { planStatefulSet } from "./plan.ts";
import { statefulSetState } from "./state.ts";

const REPLICAS = 4;

t.test("a pod waits for its node's image, and those after it in the order wait with it", async (t) => {
  const set = statefulSet("web", {
    replicas: REPLICAS,
    podManagementPolicy: "Parallel",
    updateStrategy: {
      type: "RollingUpdate",
      rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 2 },
    },
  });
  const annotations = { [WAIT_FOR_IMAGE_ANNOTATION]: "true" };
  const model = new Model({ ...set, metadata: { ...set.metadata, annotations } });
  const pulls = new PullsAhead("app:2");
  const plan = () => {
    const observed = { ...model.observed(), ...pulls.observed() };
    return planStatefulSet(
      statefulSetState({
        observed,
        options: { ...defaultOptions, preDownload: true },
        now: model.now,
        random: noChance,
      }),
    );
  };
  const settle = (passes = 20): void => pulls.settle({ model, plan }, passes);
  const updated = () => {
    const pods = pulls.updated(model.owned());
    return pods.map(({ name }) => name).sort();
  };

  settle();
  for (let ordinal = 0; ordinal < REPLICAS; ordinal++) {
    model.change(`web-${ordinal}`, { nodeName: `n${ordinal}` });
    pulls.addNode(`n${ordinal}`);
  }
  changeTemplate(model, "image", 2);
  settle();
  t.equal(pulls.jobs.length, 1);
  t.same(updated(), []);
  t.match(
    plan().waiting.find(({ reason }) => reason === "ImagePull"),
    { message: "1 pod waits: app:2 is still being pulled on 1 node", pods: ["web-3"] },
  );
  pulls.answer("n2", "Succeeded", model.now);
  settle();
  t.same(updated(), [], "web-2 does not overtake web-3");
  pulls.answer("n3", "Failed", model.now);
  settle();
  t.same(updated(), ["web-2", "web-3"]);
  t.ok(model.events.some(({ reason }) => reason === "UpdateWithoutImage"));
  model.now += 600_000;
  settle(60);
  t.equal(updated().length, REPLICAS);
});
