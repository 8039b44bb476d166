import fc from "fast-check";
import t from "tap";
import { formatTime } from "../../../kube/core/index.ts";
import { seededRandom } from "../../../kube/index.ts";
import { cloneSet, defaultOptions, Model } from "../../../testkit/controller/clone_set_model.ts";
import { answers, PullsAhead } from "../../../testkit/controller/image_pull_job_builder.ts";
import { changeTemplate } from "../../../testkit/controller/workload_history.ts";
import { WAIT_FOR_IMAGE_ANNOTATION } from "../../rollout/images/image_wait.ts";
import { planCloneSet } from "./plan.ts";
import { cloneSetState } from "./state.ts";

const REPLICAS = 5;
const options = { ...defaultOptions, preDownload: true };

/** A set whose pods are on a node each, with the nodes' pullers under the test's hand. */
class Waiting {
  readonly model: Model;
  readonly pulls = new PullsAhead("app:2");
  readonly #random = seededRandom(48);

  constructor(annotation: string | undefined) {
    const set = cloneSet("web", {
      replicas: REPLICAS,
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 2 },
      },
    });
    const annotations: Record<string, string> = {};
    if (annotation !== undefined) annotations[WAIT_FOR_IMAGE_ANNOTATION] = annotation;
    this.model = new Model({ ...set, metadata: { ...set.metadata, annotations } });
    this.settle();
    for (const [index, name] of [...this.model.pods.keys()].entries()) {
      this.model.change(name, { nodeName: `n${index}` });
      this.pulls.addNode(`n${index}`);
    }
    changeTemplate(this.model, "image", 2);
  }

  readonly plan = () => {
    const observed = { ...this.model.observed(), ...this.pulls.observed() };
    return planCloneSet(cloneSetState({ observed, options, now: this.model.now, random: this.#random }));
  };

  settle(passes?: number): void {
    this.pulls.settle(this, passes);
  }

  answer(node: string, phase: string): void {
    this.pulls.answer(node, phase, this.model.now);
  }

  updated(): number {
    return this.pulls.updated(this.model.owned()).length;
  }
}

t.test("without the annotation nobody waits", async (t) => {
  const set = new Waiting(undefined);
  set.settle();
  t.equal(set.updated(), REPLICAS);
});

t.test("pods wait for their node's image, and those that have it go first", async (t) => {
  const set = new Waiting("true");
  set.settle(5);
  t.equal(set.pulls.jobs.length, 1);
  t.equal(set.updated(), 0);
  const [waiting] = set.plan().waiting.filter(({ reason }) => reason === "ImagePull");
  t.equal(waiting?.message, "5 pods wait: app:2 is still being pulled on 5 nodes");
  t.match(waiting?.until, /its pull has failed, or \d+ s have passed \(refit.dev\/wait-for-image\)/);
  set.answer("n3", "Pulling");
  set.settle(5);
  t.equal(set.updated(), 0);
  set.answer("n3", "Succeeded");
  set.settle(20);
  t.equal(set.updated(), 1);
  t.same(set.pulls.early, []);
});

t.test("a pull that failed lets its pod go, and that is reported", async (t) => {
  const set = new Waiting("true");
  set.settle(5);
  for (const node of set.pulls.nodes.keys()) set.answer(node, "Failed");
  set.settle();
  t.equal(set.updated(), REPLICAS);
  t.equal(set.model.events.filter(({ reason }) => reason === "UpdateWithoutImage").length, REPLICAS);
});

t.test("the time limit ends the wait", async (t) => {
  const set = new Waiting("30");
  set.settle(5);
  const { requeueAfterMs = 0 } = set.plan();
  t.ok(requeueAfterMs > 0 && requeueAfterMs <= 30_000, String(requeueAfterMs));
  set.model.now += 30_000;
  set.settle();
  t.equal(set.updated(), REPLICAS);
});

t.test("a job that ended lets everybody go", async (t) => {
  const set = new Waiting("true");
  set.settle(5);
  const [first] = set.pulls.jobs;
  if (first?.job === undefined) throw new Error("no job was made");
  const completionTime = formatTime(set.model.now);
  set.pulls.jobs[0] = { ...first, job: { ...first.job, status: { desired: 5, completionTime } } };
  set.settle();
  t.equal(set.updated(), REPLICAS);
});

t.test("property: nobody goes before its pull has ended, and in the end everybody goes", async (t) => {
  fc.assert(
    fc.property(answers(["n0", "n1", "n2", "n3", "n4"]), (all) => {
      const set = new Waiting("60");
      set.pulls.settleAnswering(set, all);
      if (set.pulls.early.length > 0) return false;
      set.model.now += 60_000;
      set.settle(80);
      return set.updated() === REPLICAS;
    }),
    { seed: 49, numRuns: 40 },
  );
  t.pass("held in all runs");
});
