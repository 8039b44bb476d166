import t from "tap";
import type { ImagePullJob, NodeImage } from "../../crds/index.ts";
import { formatTime } from "../../kube/core/index.ts";
import { pullTarget, withTask } from "../image_pull_job/task.ts";
import { answered, nodeImage, written } from "../image_pull_job/testing.ts";
import { type SeenPullJob, WAIT_FOR_IMAGE_ANNOTATION } from "../rollout/image_wait.ts";
import { defaultOptions, Model, statefulSet } from "./model.ts";
import { planStatefulSet } from "./plan.ts";

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
  const jobs: SeenPullJob[] = [];
  const nodes = new Map<string, NodeImage>();
  const plan = () => {
    const seen = { ...model.seen(), pullJobs: jobs, nodeImage: (node: string) => nodes.get(node) };
    return planStatefulSet({ seen, options: { ...defaultOptions, preDownload: true }, now: model.now });
  };
  const settle = (passes = 20): void => {
    for (let pass = 0; pass < passes; pass++) {
      const { actions, status } = plan();
      for (const action of actions) {
        if (action.type === "create object") jobs.push(jobNamed(action.name, model.now));
        else if (action.type !== "delete object") model.perform(action);
      }
      model.set = { ...model.set, status };
      for (const name of [...model.pods.keys()]) model.kubelet(name);
      model.now += 50;
    }
  };
  const updated = () =>
    model
      .owned()
      .filter(({ containers }) => containers[0]?.image === "app:2")
      .map(({ name }) => name)
      .sort();
  const answer = (node: string, phase: string): void => {
    const job = jobs[0]?.job;
    const found = nodes.get(node);
    if (job === undefined || found === undefined) throw new Error(`no job or no node ${node}`);
    const task = { ttlSeconds: 300, random: () => 0, now: model.now };
    const told = written(found, { spec: withTask(found, job, pullTarget(job, []), task) });
    nodes.set(node, answered(told, phase, model.now));
  };

  settle();
  for (let ordinal = 0; ordinal < REPLICAS; ordinal++) {
    model.change(`web-${ordinal}`, { nodeName: `n${ordinal}` });
    nodes.set(`n${ordinal}`, nodeImage(`n${ordinal}`));
  }
  model.changeSpec((spec) => {
    Object.assign(spec.template.spec.containers[0] ?? {}, { image: "app:2" });
  });
  settle();
  t.equal(jobs.length, 1);
  t.same(updated(), []);
  t.match(
    plan().waiting.find(({ reason }) => reason === "ImagePull"),
    { message: "1 pod waits: app:2 is still being pulled on 1 node", pods: ["web-3"] },
  );
  answer("n2", "Succeeded");
  settle();
  t.same(updated(), [], "web-2 does not overtake web-3");
  answer("n3", "Failed");
  settle();
  t.same(updated(), ["web-2", "web-3"]);
  t.ok(model.events.some(({ reason }) => reason === "UpdateWithoutImage"));
  model.now += 600_000;
  settle(60);
  t.equal(updated().length, REPLICAS);
});

function jobNamed(name: string, now: number): SeenPullJob {
  const job: ImagePullJob = {
    metadata: { name, namespace: "default", uid: `uid-${name}`, creationTimestamp: formatTime(now) },
    spec: { image: "app:2", completionPolicy: { type: "Always" } },
  };
  return { name, uid: `uid-${name}`, job };
}
