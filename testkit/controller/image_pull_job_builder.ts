/** Builders for tests of pull jobs: nodes that answer as their agents would. */
import fc from "fast-check";
import { nodeImageResource } from "../../controller/plan/resources.ts";
import type { ObservedPullJob } from "../../controller/rollout/images/image_wait.ts";
import { nodeState, pullTarget, withTask } from "../../controller/rollout/images/pull_task.ts";
import type { Action } from "../../controller/rollout/writes/actions.ts";
import type { ImagePullJob, ImagePullJobSpec, NodeImage } from "../../crds/index.ts";
import { applyMergePatch, formatTime } from "../../kube/core/index.ts";
import { Cache, type Pod } from "../../kube/index.ts";
import type { Workload, World } from "./workload_history.ts";

/** 2026-01-01T00:00:00Z */
export const startMs = 1_767_225_600_000;

export function pullJob(
  spec: Partial<ImagePullJobSpec> = {},
  metadata: ImagePullJob["metadata"] = {},
  status?: ImagePullJob["status"],
): ImagePullJob {
  return {
    metadata: { name: "job", namespace: "ns", uid: "uid-job", generation: 1, ...metadata },
    spec: { image: "nginx:1.22", completionPolicy: { type: "Always" }, ...spec },
    ...(status === undefined ? {} : { status }),
  };
}

let version = 0;

export function nodeImage(name: string, parts: Partial<NodeImage> = {}): NodeImage {
  version += 1;
  const metadata = { name, uid: `uid-${name}`, resourceVersion: String(version), ...parts.metadata };
  return { spec: {}, ...parts, metadata };
}

/** The same object as it is after a write. */
export function written(before: NodeImage, change: Partial<NodeImage>): NodeImage {
  version += 1;
  return {
    ...before,
    ...change,
    metadata: { ...before.metadata, ...change.metadata, resourceVersion: String(version) },
  };
}

export function patched(before: NodeImage, patch: object): NodeImage {
  const after: Partial<NodeImage> = Object(applyMergePatch(before, patch));
  return written(before, after);
}

/** The agent's answer to every task of the NodeImage that has none of its version. */
export function answered(before: NodeImage, phase: string, now = startMs): NodeImage {
  const imageStatuses: NonNullable<NonNullable<NodeImage["status"]>["imageStatuses"]> = {};
  let desired = 0;
  for (const [name, image] of Object.entries(before.spec.images ?? {})) {
    const tags = image.tags.map(({ tag, version: wanted = 0 }) => {
      desired += 1;
      const known = before.status?.imageStatuses?.[name]?.tags.find((each) => each.tag === tag);
      if (known?.version === wanted && known.completionTime !== undefined) return known;
      const isOver = phase === "Succeeded" || phase === "Failed";
      const completion = isOver ? { completionTime: formatTime(now) } : {};
      return { tag, version: wanted, phase, startTime: formatTime(now), ...completion };
    });
    imageStatuses[name] = { tags };
  }
  return written(before, { status: { desired, imageStatuses } });
}

export function nodeImageCache(objects: Iterable<NodeImage> = []): Cache<NodeImage> {
  const cache = new Cache<NodeImage>({ identify: nodeImageResource.codec.identify });
  for (const object of objects) cache.upsert(object);
  return cache;
}

type Passes<T extends Workload> = Pick<World<T>, "model" | "plan">;

interface Answer {
  node: string;
  phase: string;
}

/** What agents may answer, in any order. */
export function answers(nodes: readonly string[]): fc.Arbitrary<Answer[]> {
  const phase = fc.constantFrom("Waiting", "Pulling", "Succeeded", "Failed");
  return fc.array(fc.record({ node: fc.constantFrom(...nodes), phase }), { maxLength: 12 });
}

/** The pulls ahead of one rollout to an image: the job that plans make, on nodes whose agents the test answers for. */
export class PullsAhead {
  readonly image: string;
  readonly jobs: ObservedPullJob[] = [];
  readonly nodes = new Map<string, NodeImage>();
  /** Nodes on which a pod was updated before its pull had ended. */
  readonly early: string[] = [];

  constructor(image: string) {
    this.image = image;
  }

  addNode(name: string): void {
    this.nodes.set(name, nodeImage(name));
  }

  /** What plans see of it. */
  observed() {
    return { pullJobs: this.jobs, nodeImage: (node: string) => this.nodes.get(node) };
  }

  /** Passes of the workload, their writes, and what kubelets do about them. */
  settle<T extends Workload>({ model, plan }: Passes<T>, passes = 60): void {
    for (let pass = 0; pass < passes; pass++) {
      const { actions, status } = plan();
      for (const action of actions) if (!this.#perform(action, model.now)) model.perform(action);
      model.writeStatus(status);
      for (const name of [...model.pods.keys()]) model.kubelet(name);
      model.now += 50;
    }
  }

  /** The same with a few passes after each answer. */
  settleAnswering<T extends Workload>(world: Passes<T>, all: readonly Answer[]): void {
    this.settle(world, 4);
    for (const { node, phase } of all) {
      this.answer(node, phase, world.model.now);
      this.settle(world, 4);
    }
  }

  /** The job reaches the node, whose agent answers. */
  answer(node: string, phase: string, now: number): void {
    const job = this.jobs[0]?.job;
    const found = this.nodes.get(node);
    if (job === undefined || found === undefined) return;
    const task = { ttlSeconds: 300, chance: 0, now };
    const started = written(found, { spec: withTask(found, job, pullTarget(job, []), task) });
    this.nodes.set(node, answered(started, phase, now));
  }

  /** Those of the pods that have the image. */
  updated(pods: readonly Pod[]): Pod[] {
    return pods.filter(({ containers }) => containers[0]?.image === this.image);
  }

  /** Carries out what concerns the job and checks updates of pods; true where nothing else is left to do. */
  #perform(action: Action, now: number): boolean {
    if (action.type === "create object") this.#make(action.name, now);
    else if (action.type === "delete object") this.jobs.length = 0;
    else {
      if (action.type === "patch pod") this.#check(action.after);
      return false;
    }
    return true;
  }

  #make(name: string, now: number): void {
    const job: ImagePullJob = {
      metadata: { name, namespace: "default", uid: `uid-${name}`, creationTimestamp: formatTime(now) },
      spec: { image: this.image, completionPolicy: { type: "Always" } },
    };
    this.jobs.push({ name, uid: `uid-${name}`, job });
  }

  #check(after: Pod): void {
    if (this.updated([after]).length === 0) return;
    const found = this.nodes.get(after.nodeName);
    const job = this.jobs[0]?.job;
    const state =
      found === undefined || job === undefined ? undefined : nodeState(found, pullTarget(job, []));
    if (state !== "succeeded" && state !== "failed") this.early.push(after.nodeName);
  }
}
