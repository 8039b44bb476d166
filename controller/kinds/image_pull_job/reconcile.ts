/** ImagePullJobs: counts nodes as they report, plans what nodes are told and which secrets are copied. No policy here. */
import { pullJobFinalizer as finalizer, type ImagePullJob, type NodeImage } from "../../../crds/index.ts";
import { createMergePatch } from "../../../kube/core/index.ts";
import type { Cache, Pod } from "../../../kube/index.ts";
import { pullSecretResource } from "../../native/pull_secrets.ts";
import { earliest } from "../../plan/earliest.ts";
import type { Edit, EditEffect, KindEffect, Outcomes, WriteOutcome } from "../../plan/effects.ts";
import { controllerOfKind, ownersOf } from "../../plan/owners.ts";
import { imageListPullJobResource, nodeImageResource } from "../../plan/resources.ts";
import type { SecretReference } from "../../rollout/images/node_image.ts";
import { nodeForImages, nodeImageDueAt } from "../../rollout/images/node_image_due.ts";
import { isPullTask, type PullTask, withTask } from "../../rollout/images/pull_task.ts";
import { Backoff } from "../../runtime/executor/backoff.ts";
import type { Writables } from "../../runtime/executor/executor.ts";
import { writable } from "../../runtime/executor/writable.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import type { SelectionNeeds, SelectionReader } from "../../runtime/selected_objects.ts";
import { type PullJobPlan, planImagePullJob } from "./plan.ts";
import { COPIES, JobSecrets } from "./secrets.ts";
import { Tallies, type Tally } from "./tallies.ts";

/** Others are written to first while a node refuses; then it is tried again, each time after a longer pause. */
const REFUSALS = { baseDelayMs: 1000, maxDelayMs: 300_000 };
/** Reports of many nodes are gathered: longest time, and nodes per millisecond of it. */
const LONGEST_COALESCING_MS = 200;
const NODES_PER_MS = 20;

export class ImagePullJobReconciler implements Reconciler<ImagePullJob> {
  readonly writes: Writables;
  readonly #deps: KindDeps<ImagePullJob>;
  readonly #nodeImages: Cache<NodeImage>;
  readonly #tallies: Tallies;
  readonly #secrets: JobSecrets;
  readonly #pods: SelectionNeeds<Pod>;
  /** By job: its nodes that refused. */
  readonly #refusals = new Map<string, Backoff>();

  constructor(deps: KindDeps<ImagePullJob>) {
    this.#deps = deps;
    const { informers, log, queue } = deps;
    this.#nodeImages = informers.cacheOf(nodeImageResource);
    this.#tallies = new Tallies(this.#nodeImages, (key) => queue.addAfter(key, this.coalescingMs(key)));
    this.#nodeImages.subscribe((change) => this.#tallies.nodeImageChanged(change));
    this.#pods = deps.selectedPods.needs((key, change) => {
      if (change === undefined) queue.add(key);
      else this.#tallies.podChanged(key, change);
    });
    this.#secrets = new JobSecrets({
      log,
      secrets: deps.selectObjects(pullSecretResource),
      namespace: deps.options.daemonConfigNamespace,
      enqueue: (key) => queue.add(key),
    });
    const nodeImages = this.#nodeImages;
    this.writes = {
      [COPIES]: this.#secrets.writable,
      nodeimages: writable(nodeImageResource, {
        flow: "nodeimages",
        writeBack: (nodeImage) => nodeImages.writeBack(nodeImage),
        removed: (key, uid) => nodeImages.remove(key, uid),
        edits: {
          get: (key) => nodeImages.get(key),
          patchOf: tasksPatch,
          clock: deps.clock,
          random: deps.random,
        },
      }),
    };
  }

  coalescingMs(key: string): number {
    const nodes = this.#tallies.get(key)?.nodes.desired ?? 0;
    return Math.min(LONGEST_COALESCING_MS, Math.floor(nodes / NODES_PER_MS));
  }

  forget(key: string): void {
    this.#end(key);
    this.#secrets.forget(key);
  }

  reconcile(job: ImagePullJob, key: string): Result {
    const { clock } = this.#deps;
    const isOver = job.metadata.deletionTimestamp !== undefined || job.status?.completionTime !== undefined;
    if (isOver) this.#end(key);
    const guarded = job.metadata.finalizers?.includes(finalizer) ?? false;
    const mayCopy = guarded || (job.spec.pullSecrets ?? []).length === 0;
    const secrets = isOver || !mayCopy ? undefined : this.#secrets.provide(key, job);
    const { events = [], writes = [] } = secrets ?? {};
    // Nodes are told of copies that are there: each write of one enqueues the job.
    if (writes.length > 0) return { effects: [...events, ...writes] };
    const tally = secrets && this.#tally(key, job, secrets.references);
    const heldMs = tally?.nodes.releaseHeld(clock.monotonic());
    const ownedByList = controllerOfKind(ownersOf(job), imageListPullJobResource.kind) !== undefined;
    const nodesDueAt = tally?.nodes.desired === 0 ? this.#nodesDueAt(tally) : undefined;
    const observed = { job, nodes: tally?.nodes, nodesDueAt, guarded, ownedByList };
    const plan = planImagePullJob(observed, clock.now());
    const effects: KindEffect[] = [...events];
    if (plan.guard) effects.push({ type: "add finalizer", finalizer });
    const released = plan.release ? this.#secrets.giveBack(key, job) : undefined;
    if (released !== undefined) effects.push(...released, { type: "remove finalizer", finalizer });
    if (plan.remove) effects.push({ type: "delete object" });
    if (tally !== undefined) effects.push(...this.#assign(job, tally, plan));
    return {
      status: plan.status,
      size: tally?.nodes.desired ?? 0,
      settled: plan.status?.completionTime !== undefined,
      effects,
      requeueAfterMs: earliest([plan.requeueAfterMs, heldMs]),
    };
  }

  executed(key: string, { effects = [] }: Result, { error }: Outcomes): void {
    if (error !== undefined) return;
    const has = (wanted: KindEffect["type"]) => effects.some(({ type }) => type === wanted);
    // What needs the finalizer follows in the next pass.
    if (has("add finalizer")) this.#deps.queue.add(key);
    if (has("remove finalizer")) this.#secrets.forget(key);
  }

  /** Undefined until the pods that the job selects are known. */
  #tally(key: string, job: ImagePullJob, secrets: readonly SecretReference[]): Tally | undefined {
    const { podSelector } = job.spec;
    let pods: SelectionReader<Pod> | undefined;
    if (podSelector === undefined) this.#pods.release(key);
    else {
      const namespace = job.metadata.namespace ?? "";
      [pods] = this.#pods.need(key, [{ namespace, labels: podSelector }]) ?? [];
      if (pods === undefined) return undefined;
    }
    return this.#tallies.of(key, job, secrets, pods);
  }

  /** When the last of its nodes that have no NodeImage gets one. */
  #nodesDueAt({ selection }: Tally): number | undefined {
    const { caches, options } = this.#deps;
    let last: number | undefined;
    for (const node of caches.nodes.values()) {
      const { name, labels } = node;
      if (this.#nodeImages.get(name) !== undefined || !selection.selects({ metadata: { name, labels } }))
        continue;
      const dueAt = nodeImageDueAt(nodeForImages(node), options.nodeImageCreationDelayMs);
      if (dueAt !== undefined) last = Math.max(last ?? dueAt, dueAt);
    }
    return last;
  }

  /** Until its edit has ended, a node counts as active. Nothing that may fail goes before it in the pass. */
  #assign(job: ImagePullJob, { target, nodes }: Tally, plan: PullJobPlan): EditEffect[] {
    const { clock, options, random } = this.#deps;
    const lacking = plan.supply ? nodes.lackingNodes() : [];
    return [...lacking, ...nodes.first(plan.tell)].map((name) => {
      nodes.beginWrite(name);
      const edit: PullTask = {
        type: "pull task",
        job: { spec: job.spec },
        target,
        options: { ttlSeconds: options.pullTaskTtlSeconds, chance: random(), now: clock.now() },
      };
      return { type: "edit", resource: "nodeimages", name, edit, priority: "high" };
    });
  }

  editEnded(key: string, uid: string, { name: node }: EditEffect, { error }: WriteOutcome): void {
    const { log, queue } = this.#deps;
    const tally = this.#tallies.get(key);
    // Ended meanwhile: nobody would take the count away again.
    const nodes = tally?.uid === uid ? tally.nodes : undefined;
    if (error === undefined) this.#refusals.get(key)?.forget(node);
    else {
      log.warn("an image could not be assigned to a node", { error, object: key, node });
      if (nodes !== undefined) this.#hold(key, nodes, node, error);
    }
    nodes?.endWrite(node);
    queue.addAfter(key, this.coalescingMs(key));
  }

  #hold(key: string, nodes: Tally["nodes"], node: string, error: unknown): void {
    const { clock } = this.#deps;
    const refusals = this.#refusals.get(key) ?? new Backoff({ clock, ...REFUSALS });
    this.#refusals.set(key, refusals);
    nodes.hold(node, clock.monotonic() + refusals.failed(node, error));
  }

  /** Nothing more is counted or assigned for the job. */
  #end(key: string): void {
    this.#tallies.forget(key);
    this.#pods.release(key);
    this.#refusals.delete(key);
  }
}

function tasksPatch(nodeImage: NodeImage, edits: readonly Edit[]): object | undefined {
  const { spec: before } = nodeImage;
  const spec = edits
    .filter(isPullTask)
    .reduce(
      (spec, { job, target, options }) => withTask({ ...nodeImage, spec }, job, target, options),
      before,
    );
  return spec === before ? undefined : { spec: createMergePatch(before ?? {}, spec) };
}
