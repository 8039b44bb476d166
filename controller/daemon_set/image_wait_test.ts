/** Pods of a DaemonSet wait for the image that is pulled ahead to their node. */
import fc from "fast-check";
import t from "tap";
import type { ImagePullJob, NodeImage } from "../../crds/index.ts";
import { formatTime } from "../../kube/core/index.ts";
import { type Pod, seededRandom } from "../../kube/index.ts";
import { nodeState, pullTarget, withTask } from "../image_pull_job/task.ts";
import { answered, nodeImage, written } from "../image_pull_job/testing.ts";
import { type SeenPullJob, WAIT_FOR_IMAGE_ANNOTATION } from "../rollout/image_wait.ts";
import { daemonSet, defaultOptions, Model } from "./model.ts";
import { planDaemonSet } from "./plan.ts";

const names = ["n0", "n1", "n2", "n3", "n4"];
const options = { ...defaultOptions, preDownload: true };

/** A set at its new image, with the nodes' pullers under the test's hand. */
class Waiting {
  readonly model: Model;
  readonly jobs: SeenPullJob[] = [];
  readonly nodes = new Map<string, NodeImage>();
  /** Nodes on which a pod was updated before its pull had ended. */
  readonly early: string[] = [];
  readonly told: string[] = [];
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
    for (const name of names) this.nodes.set(name, nodeImage(name));
    this.model.changeSpec((spec) => {
      Object.assign(spec.template.spec.containers[0] ?? {}, { image: "app:2" });
    });
  }

  plan() {
    const ahead = { pullJobs: this.jobs, nodeImage: (node: string) => this.nodes.get(node) };
    const seen = { ...this.model.seen(), ...ahead };
    return planDaemonSet({ seen, options, now: this.model.now, random: this.#random });
  }

  /** One pass, its writes, and what kubelets do about them. */
  pass(): void {
    const plan = this.plan();
    for (const action of plan.actions) {
      if (action.type === "create object") this.#make(action.name);
      else if (action.type === "delete object") this.jobs.length = 0;
      else if (action.type === "event") this.told.push(action.event.reason);
      else {
        if (action.type === "patch pod") this.#judge(action.write.after);
        this.model.perform(action);
      }
    }
    this.model.set = { ...this.model.set, status: plan.status };
    for (const name of [...this.model.pods.keys()]) this.model.kubelet(name);
    this.model.now += 50;
  }

  settle(passes = 60): void {
    for (let pass = 0; pass < passes; pass++) this.pass();
  }

  /** The job reaches the node, whose agent answers. */
  answer(node: string, phase: string): void {
    const job = this.jobs[0]?.job;
    const found = this.nodes.get(node);
    if (job === undefined || found === undefined) return;
    const task = { ttlSeconds: 300, random: () => 0, now: this.model.now };
    const told = written(found, { spec: withTask(found, job, pullTarget(job, []), task) });
    this.nodes.set(node, answered(told, phase, this.model.now));
  }

  updated(): string[] {
    const pods = this.model.owned().filter(({ containers }) => containers[0]?.image === "app:2");
    return pods.map(({ nodeName }) => nodeName).sort();
  }

  #make(name: string): void {
    const creationTimestamp = formatTime(this.model.now);
    const job: ImagePullJob = {
      metadata: { name, namespace: "default", uid: `uid-${name}`, creationTimestamp },
      spec: { image: "app:2", completionPolicy: { type: "Always" } },
    };
    this.jobs.push({ name, uid: `uid-${name}`, job });
  }

  #judge({ nodeName, containers }: Pod): void {
    if (containers[0]?.image !== "app:2") return;
    const found = this.nodes.get(nodeName);
    const job = this.jobs[0]?.job;
    const state =
      found === undefined || job === undefined ? undefined : nodeState(found, pullTarget(job, []));
    if (state !== "succeeded" && state !== "failed") this.early.push(nodeName);
  }
}

t.test("without the annotation nobody waits", async (t) => {
  const set = new Waiting(undefined);
  set.settle();
  t.same(set.updated(), names);
});

t.test("nodes that have the image go first, the others are told of", async (t) => {
  const set = new Waiting("true");
  set.settle(5);
  t.equal(set.jobs.length, 1);
  t.same(set.updated(), []);
  const [waiting] = set.plan().waiting.filter(({ reason }) => reason === "ImagePull");
  t.equal(waiting?.message, "5 pods wait: app:2 is still being pulled on 5 nodes");
  set.answer("n1", "Succeeded");
  set.settle(20);
  t.same(set.updated(), ["n1"]);
  set.answer("n4", "Failed");
  set.settle(20);
  t.same(set.updated(), ["n1", "n4"]);
  t.same(set.told.filter((reason) => reason === "UpdateWithoutImage").length, 1);
  t.same(set.early, []);
});

t.test("a pod that serves nobody waits for its image as well", async (t) => {
  const set = new Waiting("true");
  const [pod] = set.model.owned();
  if (pod === undefined) throw new Error("no pod was made");
  set.model.change(pod.name, { conditions: [], containerStatuses: [] });
  set.pass();
  set.pass();
  t.same(set.updated(), []);
});

t.test("the time limit ends the wait", async (t) => {
  const set = new Waiting("30");
  set.settle(5);
  const { wakeAfterMs = 0 } = set.plan();
  t.ok(wakeAfterMs > 0 && wakeAfterMs <= 30_000, String(wakeAfterMs));
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

const answer = fc.record({
  node: fc.constantFrom(...names),
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
      return set.updated().length === names.length;
    }),
    { seed: 49, numRuns: 40 },
  );
  t.pass("held in all runs");
});
