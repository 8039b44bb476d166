/**
 * Pull jobs, their list, NodeImages and agents, each as late as a test wants; what is written is held to the rules. For tests.
 * Spec: images P4, L3, N4, 7.
 */

import { HASH_LABEL, planImageListPullJob } from "../../controller/kinds/image_list_pull_job/plan.ts";
import { parallelismOf, planImagePullJob } from "../../controller/kinds/image_pull_job/plan.ts";
import { Tallies } from "../../controller/kinds/image_pull_job/tallies.ts";
import { planOneNodeImage } from "../../controller/kinds/node_image/plan.ts";
import { awaitsResults } from "../../controller/kinds/node_image/prune.ts";
import { currentStatus } from "../../controller/rollout/images/node_image.ts";
import type { NodeForImages } from "../../controller/rollout/images/node_image_due.ts";
import {
  nodeState,
  type PullTarget,
  pullTarget,
  withTask,
} from "../../controller/rollout/images/pull_task.ts";
import type { ImageListPullJob, ImagePullJob, ImagePullJobSpec, NodeImage } from "../../crds/index.ts";
import { createMergePatch, formatTime } from "../../kube/core/index.ts";
import type { Cache } from "../../kube/index.ts";
import { endedTask, type PullTask, planNodeImage, taskKey } from "../../node/index.ts";
import { nodeImage, nodeImageCache, patched, startMs, written } from "./image_pull_job_builder.ts";

const second = 1000;
const creationDelayMs = 30 * second;

/** Its tasks, and the versions that its runtime pulls. */
interface Agent {
  tasks: ReadonlyMap<string, PullTask>;
  running: Map<string, number>;
  runtimeReady: boolean;
}

interface Told {
  job: ImagePullJob;
  target: PullTarget;
  node: string;
  at: number;
}

export class PullWorld {
  now = startMs;
  readonly cache: Cache<NodeImage> = nodeImageCache();
  readonly nodes = new Map<string, NodeForImages>();
  readonly agents = new Map<string, Agent>();
  readonly jobs = new Map<string, ImagePullJob>();
  list: ImageListPullJob | undefined;
  readonly gone = new Set<string>();
  /** Edits of NodeImages that are under way. */
  inFlight: Told[] = [];
  tallies = this.#newTallies();
  /** Counts what was stored. */
  writes = 0;
  #count = 0;

  constructor() {
    this.cache.subscribe((change) => this.tallies.nodeImageChanged(change));
  }

  #newTallies(): Tallies {
    return new Tallies(this.cache, () => undefined);
  }

  makeJob(spec: ImagePullJobSpec, name = `job-${this.#count++}`, labels = {}): void {
    const uid = `uid-${name}-${this.#count++}`;
    this.writes++;
    const metadata = {
      name,
      namespace: "ns",
      uid,
      generation: 1,
      labels,
      creationTimestamp: formatTime(this.now),
    };
    this.jobs.set(name, { metadata, spec });
  }

  changeJob(name: string, change: Partial<ImagePullJobSpec>): void {
    const job = this.jobs.get(name);
    if (job === undefined) return;
    const metadata = { ...job.metadata, generation: (job.metadata.generation ?? 0) + 1 };
    this.jobs.set(name, { ...job, metadata, spec: { ...job.spec, ...change } });
  }

  removeJob(name: string): void {
    const job = this.jobs.get(name);
    if (job === undefined) return;
    this.writes++;
    this.jobs.delete(name);
    this.tallies.forget(`ns/${name}`);
    this.gone.add(job.metadata.uid ?? "");
  }

  children(): ImagePullJob[] {
    return [...this.jobs.values()].filter(({ metadata }) => metadata.labels?.[HASH_LABEL] !== undefined);
  }

  passList(): void {
    if (this.list === undefined) return;
    const plan = planImageListPullJob({ job: this.list, children: this.children() }, this.now);
    if (plan.remove) {
      for (const { metadata } of this.children()) this.removeJob(metadata.name ?? "");
      this.list = undefined;
      this.writes++;
      return;
    }
    if (plan.status !== undefined && !same(plan.status, this.list.status)) {
      this.writes++;
      this.list = { ...this.list, status: plan.status };
    }
    for (const { metadata } of plan.delete) this.removeJob(metadata.name ?? "");
    for (const spec of plan.create) this.makeJob(spec, `list-${this.#count++}`, { [HASH_LABEL]: plan.hash });
  }

  passJob(name: string): void {
    const job = this.jobs.get(name);
    if (job === undefined) return;
    const key = `ns/${name}`;
    const isOver = job.status?.completionTime !== undefined;
    if (isOver) this.tallies.forget(key);
    const tally = isOver ? undefined : this.tallies.of(key, job, [], undefined);
    const nodesDueAt = tally?.nodes.desired === 0 ? this.#nodesDueAt(tally.selection.selects) : undefined;
    const ownedByList = job.metadata.labels?.[HASH_LABEL] !== undefined;
    const plan = planImagePullJob(
      { job, nodes: tally?.nodes, nodesDueAt, guarded: false, ownedByList },
      this.now,
    );
    if (plan.remove) {
      const ttl = job.spec.completionPolicy?.ttlSecondsAfterFinished ?? Number.NaN;
      // A time ahead comes from a clock that was wrong.
      const completed = Math.min(this.now, Date.parse(job.status?.completionTime ?? ""));
      if (!(completed + ttl * second <= this.now)) throw new Error("removed too early");
      this.removeJob(name);
      return;
    }
    if (tally !== undefined) {
      const told = tally.nodes.first(plan.tell);
      const { active, succeeded, failed } = this.recount(job);
      if (told.length > 0 && active + told.length > parallelismOf(job))
        throw new Error("too many nodes at a time");
      if (plan.status?.completionTime !== undefined && plan.status.message === "job has completed") {
        const { desired } = plan.status;
        if (desired !== succeeded + failed) throw new Error("complete without results of all");
      }
      for (const node of told) {
        tally.nodes.beginWrite(node);
        this.inFlight.push({ job, target: tally.target, node, at: this.now });
      }
    }
    if (plan.status !== undefined && !same(plan.status, job.status)) {
      this.writes++;
      this.jobs.set(name, { ...job, status: plan.status });
    }
  }

  #nodesDueAt(selects: (node: { metadata: object }) => boolean): number | undefined {
    const due = [...this.nodes].flatMap(([name, { labels, readySince }]) =>
      this.cache.get(name) === undefined &&
      readySince !== undefined &&
      selects({ metadata: { name, labels } })
        ? [readySince + creationDelayMs]
        : [],
    );
    return due.length === 0 ? undefined : Math.max(...due);
  }

  /** By looking at everything. */
  recount(job: ImagePullJob): Record<"active" | "succeeded" | "failed" | "unassigned", number> {
    const counts = { active: 0, succeeded: 0, failed: 0, unassigned: 0 };
    const target = pullTarget(job, []);
    for (const each of this.cache.values()) {
      const { names, matchLabels } = job.spec.selector ?? {};
      if (names?.includes(each.metadata.name ?? "") === false) continue;
      if (matchLabels !== undefined && each.metadata.labels?.["pool"] !== matchLabels["pool"]) continue;
      const state = nodeState(each, target);
      const isTold = this.inFlight.some(
        (one) => one.node === each.metadata.name && one.job.metadata.uid === job.metadata.uid,
      );
      counts[state === "unassigned" && isTold ? "active" : state]++;
    }
    return counts;
  }

  /** `stored`: the answer may say something else than what was done. */
  land(index: number, stored: boolean): void {
    const [told] = this.inFlight.splice(index % Math.max(1, this.inFlight.length), 1);
    if (told === undefined) return;
    const { job, target, node, at } = told;
    const found = this.cache.get(node);
    if (stored && found !== undefined) {
      const spec = withTask(found, job, target, { ttlSeconds: 300, chance: 0.5, now: at });
      if (spec !== found.spec) this.#store(written(found, { spec }));
    }
    const tally = this.tallies.get(`ns/${job.metadata.name}`);
    if (tally?.uid === job.metadata.uid) tally?.nodes.endWrite(node);
  }

  #store(after: NodeImage): void {
    this.writes++;
    this.cache.upsert(after);
  }

  passNode(name: string): void {
    const found = this.cache.get(name);
    const isOf = (uid: string | undefined) =>
      [...this.jobs.values()].find(({ metadata }) => metadata.uid === uid);
    const seen = {
      node: this.nodes.get(name),
      nodeImage: found,
      jobExists: ({ uid = "" }) => !this.gone.has(uid),
      awaitsResult: ({ uid = "" }) => {
        const job = isOf(uid);
        return job !== undefined && awaitsResults(job);
      },
      secretExists: () => true,
    };
    const [effect] = planOneNodeImage(seen, { creationDelayMs }, this.now).effects;
    if (effect === undefined) return;
    this.writes++;
    if (effect.type === "create object") {
      const { labels = {} } = this.nodes.get(name) ?? {};
      this.cache.upsert(
        nodeImage(name, { metadata: { labels: { ...labels }, uid: `uid-${name}-${this.#count++}` } }),
      );
    } else if (found === undefined) throw new Error(`${effect.type} of nothing`);
    else if (effect.type === "delete object") this.#removeNodeImage(found);
    else if (effect.type === "patch object") this.cache.upsert(patched(found, effect.body));
    else if (effect.type === "patch status") this.cache.upsert(patched(found, { status: effect.status }));
    else throw new Error(effect.type);
  }

  #removeNodeImage({ metadata }: NodeImage): void {
    this.cache.remove(metadata.name ?? "", metadata.uid ?? "");
  }

  agent(name: string): Agent {
    const agent = this.agents.get(name) ?? { tasks: new Map(), running: new Map(), runtimeReady: true };
    this.agents.set(name, agent);
    return agent;
  }

  work(name: string): void {
    const found = this.cache.get(name);
    const agent = this.agent(name);
    if (found === undefined) {
      agent.tasks = new Map();
      agent.running.clear();
      return;
    }
    const { tasks, runtimeReady } = agent;
    const { spec, status } = found;
    const plan = planNodeImage({ spec, status, tasks, maxPulls: 1, runtimeReady, reason: "none" }, this.now);
    for (const key of plan.stop) agent.running.delete(key);
    for (const key of plan.start) {
      const task = plan.tasks.get(key);
      if (task === undefined) continue;
      const wanted = spec.images?.[task.image]?.tags.find(({ tag }) => tag === task.tag);
      const known = wanted && currentStatus(found, task.image, wanted);
      if (known?.completionTime !== undefined) throw new Error("pulled again what is done");
      agent.running.set(key, task.version);
    }
    if (agent.running.size > 1) throw new Error("more pulls than slots");
    agent.tasks = plan.tasks;
    const patch = createMergePatch(status ?? {}, plan.status);
    if (Object.keys(patch).length > 0) this.#store(patched(found, { status: patch }));
  }

  end(name: string, ok: boolean): boolean {
    const agent = this.agent(name);
    const [key] = agent.running.keys();
    if (key === undefined) return false;
    const task = agent.tasks.get(key);
    if (task === undefined || task.version !== agent.running.get(key))
      throw new Error("pulls what nobody wants");
    agent.running.delete(key);
    const result = ok ? { ok, imageID: "id", pulled: true } : { ok, message: "no" };
    agent.tasks = new Map([
      ...agent.tasks,
      [taskKey(task.image, task.tag), endedTask(task, result, this.now)],
    ]);
    return true;
  }

  /** The process of an agent dies. What it had finished it may have kept. */
  restart(name: string, keeps: boolean): void {
    const agent = this.agent(name);
    agent.running.clear();
    const known = keeps ? [...agent.tasks].filter(([, task]) => task.completedAt !== undefined) : [];
    agent.tasks = new Map(known);
  }

  /** The controller dies; its edits are lost or stored. */
  crash(stored: boolean): void {
    while (this.inFlight.length > 0) this.land(0, stored);
    this.tallies = this.#newTallies();
  }

  round(): boolean {
    const before = this.writes;
    this.passList();
    for (const name of [...this.jobs.keys()]) this.passJob(name);
    let moved = this.inFlight.length > 0;
    while (this.inFlight.length > 0) this.land(0, true);
    for (const name of new Set([
      ...this.nodes.keys(),
      ...[...this.cache.values()].map(({ metadata }) => metadata.name ?? ""),
    ])) {
      this.passNode(name);
      this.work(name);
      if (this.end(name, true)) moved = true;
    }
    return moved || this.writes > before;
  }
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
