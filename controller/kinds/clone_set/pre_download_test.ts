/** When it is decided whether images are pulled ahead. Spec: cloneset 4.9, rules 58 and 59. */
import t from "tap";
import type { CloneSetRollingUpdate } from "../../../crds/index.ts";
import { cloneSet, defaultOptions, Model } from "../../../testkit/controller/clone_set_model.ts";
import { PullsAhead } from "../../../testkit/controller/image_pull_job_builder.ts";
import { changeTemplate, randomOf } from "../../../testkit/controller/workload_history.ts";
import { CREATED, IGNORED } from "../../rollout/images/pre_download.ts";
import { planCloneSet } from "./plan.ts";
import { cloneSetState } from "./state.ts";

const options = { ...defaultOptions, preDownload: true };

/** A set whose image has just changed. */
function rollout(replicas: number, settings: CloneSetRollingUpdate) {
  const rollingUpdate = { podUpdatePolicy: "InPlaceIfPossible", ...settings };
  const model = new Model(cloneSet("web", { replicas, updateStrategy: { rollingUpdate } }));
  const pulls = new PullsAhead("app:2");
  const random = randomOf(7);
  const plan = () => {
    const observed = { ...model.observed(), ...pulls.observed() };
    return planCloneSet(cloneSetState({ observed, options, now: model.now, random }));
  };
  const settle = (passes?: number) => pulls.settle({ model, plan }, passes);
  settle();
  changeTemplate(model, "image", 2);
  return { model, plan, pulls, settle };
}

t.test("images are pulled ahead unless maxUnavailable, rounded down, is all pods", async (t) => {
  const jobs = (replicas: number, settings: CloneSetRollingUpdate) => {
    const { pulls, settle } = rollout(replicas, settings);
    // The revision, then the decision.
    settle(2);
    return pulls.jobs.length;
  };
  t.equal(jobs(10, { maxUnavailable: "95%" }), 1, "9 of 10");
  t.equal(jobs(10, { maxUnavailable: "100%" }), 0);
  t.equal(jobs(10, { maxUnavailable: "100%", partition: 1 }), 1);
  t.equal(jobs(10, {}), 1, "20%");
  t.equal(jobs(3, {}), 0, "few pods");
});

t.test("nothing is decided before enough updated pods are ready", async (t) => {
  const inPlaceUpdateStrategy = { imagePreDownloadMinUpdatedReadyPods: 1 };
  const { model, pulls, settle } = rollout(3, { partition: 3, inPlaceUpdateStrategy });
  const decided = () => {
    const labels = [...model.revisions.values()].flatMap((revision) => Object.keys(revision.labels));
    return [CREATED, IGNORED].filter((label) => labels.includes(label));
  };
  settle();
  t.equal(model.revisions.size, 2);
  t.same(decided(), [], "three pods would be too few");
  model.changeSpec((spec) => {
    spec.replicas = 5;
    spec.updateStrategy = {
      rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", partition: 4, inPlaceUpdateStrategy },
    };
  });
  settle();
  t.same(decided(), [CREATED]);
  t.equal(pulls.jobs.length, 1);
});
