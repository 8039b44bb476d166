/** Pods of a DaemonSet wait for the image that is pulled ahead to their node. */
import fc from "fast-check";
import t from "tap";
import { seededRandom } from "../../../kube/index.ts";
import { daemonSet, defaultOptions, Model } from "../../../testkit/controller/daemon_set_model.ts";
import { answers, PullsAhead } from "../../../testkit/controller/image_pull_job_builder.ts";
import { changeTemplate } from "../../../testkit/controller/workload_history.ts";
import { WAIT_FOR_IMAGE_ANNOTATION } from "../../rollout/images/image_wait.ts";
import { planDaemonSet } from "./plan.ts";
import { daemonSetState } from "./state.ts";

const names = ["n0", "n1", "n2", "n3", "n4"];
const options = { ...defaultOptions, preDownload: true };

/** A set at its new image, with the nodes' pullers under the test's hand. */
class Waiting {
  readonly model: Model;
  readonly pulls = new PullsAhead("app:2");
  readonly #random = seededRandom(48);

  constructor(annotation: string | undefined) {
    const set = daemonSet({
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { rollingUpdateType: "InPlaceIfPossible", maxUnavailable: 2 },
      },
    });
    if (annotation !== undefined) set.metadata.annotations = { [WAIT_FOR_IMAGE_ANNOTATION]: annotation };
    this.model = new Model(set, names);
    this.settle();
    for (const name of names) this.pulls.addNode(name);
    changeTemplate(this.model, "image", 2);
  }

  readonly plan = () => {
    const observed = { ...this.model.observed(), ...this.pulls.observed() };
    return planDaemonSet(daemonSetState({ observed, options, now: this.model.now, random: this.#random }));
  };

  settle(passes?: number): void {
    this.pulls.settle(this, passes);
  }

  answer(node: string, phase: string): void {
    this.pulls.answer(node, phase, this.model.now);
  }

  updated(): string[] {
    const pods = this.pulls.updated(this.model.owned());
    return pods.map(({ nodeName }) => nodeName).sort();
  }
}

t.test("without the annotation nobody waits", async (t) => {
  const set = new Waiting(undefined);
  set.settle();
  t.same(set.updated(), names);
});

t.test("nodes that have the image go first, the others are reported", async (t) => {
  const set = new Waiting("true");
  set.settle(5);
  t.equal(set.pulls.jobs.length, 1);
  t.same(set.updated(), []);
  const [waiting] = set.plan().waiting.filter(({ reason }) => reason === "ImagePull");
  t.equal(waiting?.message, "5 pods wait: app:2 is still being pulled on 5 nodes");
  set.answer("n1", "Succeeded");
  set.settle(20);
  t.same(set.updated(), ["n1"]);
  set.answer("n4", "Failed");
  set.settle(20);
  t.same(set.updated(), ["n1", "n4"]);
  t.same(set.model.events.filter(({ reason }) => reason === "UpdateWithoutImage").length, 1);
  t.same(set.pulls.early, []);
});

t.test("a pod that serves nobody waits for its image as well", async (t) => {
  const set = new Waiting("true");
  const [pod] = set.model.owned();
  if (pod === undefined) throw new Error("no pod was made");
  set.model.change(pod.name, { conditions: [], containerStatuses: [] });
  set.settle(2);
  t.same(set.updated(), []);
});

t.test("the time limit ends the wait", async (t) => {
  const set = new Waiting("30");
  set.settle(5);
  const { requeueAfterMs = 0 } = set.plan();
  t.ok(requeueAfterMs > 0 && requeueAfterMs <= 30_000, String(requeueAfterMs));
  set.model.now += 30_000;
  set.settle();
  t.same(set.updated(), names);
});

t.test("a pod that must be recreated waits for none", async (t) => {
  const set = new Waiting("true");
  set.model.changeSpec((spec) => {
    Object.assign(spec.template.spec.containers[0] ?? {}, { env: [{ name: "A", value: "1" }] });
  });
  set.settle();
  t.same(set.updated(), names);
});

t.test("property: nobody goes before its pull has ended, and in the end everybody goes", async (t) => {
  fc.assert(
    fc.property(answers(names), (all) => {
      const set = new Waiting("60");
      set.pulls.settleAnswering(set, all);
      if (set.pulls.early.length > 0) return false;
      set.model.now += 60_000;
      set.settle(80);
      return set.updated().length === names.length;
    }),
    { seed: 49, numRuns: 40 },
  );
  t.pass("held in all runs");
});
