import fc from "fast-check";
import t from "tap";
import type { ImagePullJob, NodeImage } from "../../crds/index.ts";
import { formatTime } from "../../kube/core/index.ts";
import { seededRandom } from "../../kube/index.ts";
import { nodeState, pullTarget, withTask } from "../image_pull_job/task.ts";
import { answered, nodeImage, written } from "../image_pull_job/testing.ts";
import { type SeenPullJob, WAIT_FOR_IMAGE_ANNOTATION } from "../rollout/image_wait.ts";
import { cloneSet, defaultOptions, Model } from "./model.ts";
import { planCloneSet } from "./plan.ts";

const REPLICAS = 5;
const options = { ...defaultOptions, preDownload: true };

/** A set whose pods are on a node each, with the nodes' pullers under the test's hand. */
class Waiting {
  readonly model: Model;
  readonly jobs: SeenPullJob[] = [];
  readonly nodes = new Map<string, NodeImage>();
  /** Nodes on which a pod was updated before its pull had ended. */
  readonly early: string[] = [];
  readonly told: string[] = [];
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
      this.nodes.set(`n${index}`, nodeImage(`n${index}`));
    }
    this.model.changeSpec((spec) => {
      Object.assign(spec.template.spec.containers[0] ?? {}, { image: "app:2" });
    });
  }

  plan() {
    const seen = {
      ...this.model.seen(),
      pullJobs: this.jobs,
      nodeImage: (node: string) => this.nodes.get(node),
    };
    return planCloneSet({ seen, options, now: this.model.now, random: this.#random });
  }

  /** One pass, its writes, and what kubelets do about them. */
  pass(): ReturnType<typeof planCloneSet> {
    const plan = this.plan();
    for (const action of plan.actions) {
      if (action.type === "create object") this.#make(action.name);
      else if (action.type === "delete object") this.jobs.length = 0;
      else if (action.type === "event") this.told.push(action.event.reason);
      else {
        if (action.type === "patch pod") this.#judge(action.pod.nodeName, action.write.after.containers);
        this.model.perform(action);
      }
    }
    this.model.set = { ...this.model.set, status: plan.status };
    for (const name of [...this.model.pods.keys()]) this.model.kubelet(name);
    this.model.now += 50;
    return plan;
  }

  settle(passes = 60): void {
    for (let pass = 0; pass < passes; pass++) this.pass();
  }

  /** The job reaches the node, whose agent answers. */
  answer(node: string, phase: string): void {
    const [first] = this.jobs;
    const found = this.nodes.get(node);
    if (first?.job === undefined || found === undefined) return;
    const task = { ttlSeconds: 300, random: () => 0, now: this.model.now };
    const told = written(found, { spec: withTask(found, first.job, pullTarget(first.job, []), task) });
    this.nodes.set(node, answered(told, phase, this.model.now));
  }

  updated(): number {
    return this.model.owned().filter(({ containers }) => containers[0]?.image === "app:2").length;
  }

  #make(name: string): void {
    const creationTimestamp = formatTime(this.model.now);
    const job: ImagePullJob = {
      metadata: { name, namespace: "default", uid: `uid-${name}`, creationTimestamp },
      spec: { image: "app:2", completionPolicy: { type: "Always" } },
    };
    this.jobs.push({ name, uid: `uid-${name}`, job });
  }

  #judge(node: string, containers: readonly { image: string }[]): void {
    if (containers[0]?.image !== "app:2") return;
    const found = this.nodes.get(node);
    const job = this.jobs[0]?.job;
    const state =
      found === undefined || job === undefined ? undefined : nodeState(found, pullTarget(job, []));
    if (state !== "succeeded" && state !== "failed") this.early.push(node);
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
  t.equal(set.jobs.length, 1);
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
  t.same(set.early, []);
});

t.test("a pull that failed lets its pod go, and that is told", async (t) => {
  const set = new Waiting("true");
  set.settle(5);
  for (const node of set.nodes.keys()) set.answer(node, "Failed");
  set.settle();
  t.equal(set.updated(), REPLICAS);
  t.equal(set.told.filter((reason) => reason === "UpdateWithoutImage").length, REPLICAS);
});

t.test("the time limit ends the wait", async (t) => {
  const set = new Waiting("30");
  set.settle(5);
  const { wakeAfterMs = 0 } = set.plan();
  t.ok(wakeAfterMs > 0 && wakeAfterMs <= 30_000, String(wakeAfterMs));
  set.model.now += 30_000;
  set.settle();
  t.equal(set.updated(), REPLICAS);
});

t.test("a job that ended lets everybody go", async (t) => {
  const set = new Waiting("true");
  set.settle(5);
  const [first] = set.jobs;
  if (first?.job === undefined) throw new Error("no job was made");
  const completionTime = formatTime(set.model.now);
  set.jobs[0] = { ...first, job: { ...first.job, status: { desired: 5, completionTime } } };
  set.settle();
  t.equal(set.updated(), REPLICAS);
});

const answer = fc.record({
  node: fc.constantFrom("n0", "n1", "n2", "n3", "n4"),
  phase: fc.constantFrom("Waiting", "Pulling", "Succeeded", "Failed"),
});

t.test("property: nobody goes before its pull has ended, and in the end everybody goes", async (t) => {
  fc.assert(
    fc.property(fc.array(answer, { maxLength: 12 }), (answers) => {
      const set = new Waiting("60");
      set.settle(4);
      for (const { node, phase } of answers) {
        set.answer(node, phase);
        set.settle(4);
      }
      if (set.early.length > 0) return false;
      set.model.now += 60_000;
      set.settle(80);
      return set.updated() === REPLICAS;
    }),
    { seed: 49, numRuns: 40 },
  );
  t.pass("held in all runs");
});
