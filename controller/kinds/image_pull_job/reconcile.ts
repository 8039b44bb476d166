/** ImagePullJobs: counts nodes as they report, tells nodes, copies secrets. No policy here. */
import { pullJobFinalizer as finalizer, type ImagePullJob, type NodeImage } from "../../../crds/index.ts";
import type { Cache, Pod } from "../../../kube/index.ts";
import { pullSecretResource } from "../../native/pull_secrets.ts";
import type { KindEffect, Outcomes } from "../../plan/effects.ts";
import { controllerOfKind, ownersOf } from "../../plan/owners.ts";
import { imageListPullJobResource, nodeImageResource } from "../../plan/resources.ts";
import type { SecretReference } from "../../rollout/images/node_image.ts";
import { nodeImageDueAt, seenNode } from "../../rollout/images/node_image_due.ts";
import { withTask } from "../../rollout/images/pull_task.ts";
import { Backoff } from "../../runtime/executor/backoff.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import type { HeldPods, PodNeeds } from "../../runtime/selected_pods.ts";
import { NodeImageWriter } from "./node_image_writer.ts";
import { type PullJobPlan, planImagePullJob } from "./plan.ts";
import { JobSecrets } from "./secrets.ts";
import { Tallies, type Tally } from "./tallies.ts";

/** Others are written to first while a node refuses; then it is tried again, each time after a longer pause. */
const REFUSALS = { baseDelayMs: 1000, maxDelayMs: 300_000 };
/** Reports of many nodes are gathered: longest time, and nodes per millisecond of it. */
const LONGEST_COALESCING_MS = 200;
const NODES_PER_MS = 20;

export class ImagePullJobReconciler implements Reconciler<ImagePullJob> {
  readonly #deps: KindDeps<ImagePullJob>;
  readonly #nodeImages: Cache<NodeImage>;
  readonly #writer: NodeImageWriter;
  readonly #tallies: Tallies;
  readonly #secrets: JobSecrets;
  readonly #pods: PodNeeds<Pod>;
  /** By job: its nodes that refused. */
  readonly #refusals = new Map<string, Backoff>();

  constructor(deps: KindDeps<ImagePullJob>) {
    this.#deps = deps;
    const { client, informers, log, queue, recorder, signal } = deps;
    this.#nodeImages = informers.cacheOf(nodeImageResource);
    // For copies of secrets. NodeImages belong to no namespace: any writer takes them.
    const writer = deps.writesFor({ namespace: deps.options.daemonConfigNamespace });
    this.#writer = new NodeImageWriter({
      client,
      writer,
      resource: nodeImageResource,
      objects: this.#nodeImages,
      signal,
    });
    this.#tallies = new Tallies(this.#nodeImages, (key) => queue.addAfter(key, this.coalescingMs(key)));
    this.#nodeImages.subscribe((change) => this.#tallies.nodeImageChanged(change));
    this.#pods = deps.selectedPods.needs((key, change) => {
      if (change === undefined) queue.add(key);
      else this.#tallies.podChanged(key, change);
    });
    this.#secrets = new JobSecrets({
      client,
      writer,
      log,
      recorder,
      signal,
      secrets: deps.selectPods(pullSecretResource),
      namespace: deps.options.daemonConfigNamespace,
      enqueue: (key) => queue.add(key),
    });
  }

  coalescingMs(key: string): number {
    const nodes = this.#tallies.get(key)?.nodes.desired ?? 0;
    return Math.min(LONGEST_COALESCING_MS, Math.floor(nodes / NODES_PER_MS));
  }

  forget(key: string): void {
    this.#end(key);
    this.#secrets.forget(key);
  }

  drained(): Promise<void> {
    return this.#writer.drained();
  }

  async reconcile(job: ImagePullJob, key: string): Promise<Result | undefined> {
    const { clock, objects } = this.#deps;
    const isOver = job.metadata.deletionTimestamp !== undefined || job.status?.completionTime !== undefined;
    if (isOver) this.#end(key);
    const guarded = job.metadata.finalizers?.includes(finalizer) ?? false;
    const mayCopy = guarded || (job.spec.pullSecrets ?? []).length === 0;
    const secrets = isOver || !mayCopy ? undefined : await this.#secrets.provide(key, job);
    if (!objects.holds(key, job.metadata.uid)) return undefined;
    const tally = secrets === undefined ? undefined : this.#tally(key, job, secrets);
    tally?.nodes.releaseHeld(clock.monotonic());
    const ownedByList = controllerOfKind(ownersOf(job), imageListPullJobResource.kind) !== undefined;
    const nodesDueAt = tally?.nodes.desired === 0 ? this.#nodesDueAt(tally) : undefined;
    const seen = { job, nodes: tally?.nodes, nodesDueAt, guarded, ownedByList };
    const plan = planImagePullJob(seen, clock.now());
    const effects: KindEffect[] = [];
    if (plan.guard) effects.push({ type: "add finalizer", finalizer });
    if (plan.release && (await this.#secrets.giveBack(key, job)))
      effects.push({ type: "remove finalizer", finalizer });
    if (plan.remove) effects.push({ type: "delete object" });
    if (tally !== undefined) this.#assign(key, job, tally, plan);
    return {
      status: plan.status,
      size: tally?.nodes.desired ?? 0,
      settled: plan.status?.completionTime !== undefined,
      effects,
      requeueAfterMs: plan.requeueAfterMs,
    };
  }

  /** What needs the finalizer follows in the next pass. */
  carriedOut(key: string, { effects = [] }: Result, { error }: Outcomes): void {
    const isGuarded = effects.some((effect) => "type" in effect && effect.type === "add finalizer");
    if (isGuarded && error === undefined) this.#deps.queue.add(key);
  }

  /** Undefined until the pods that the job selects are known. */
  #tally(key: string, job: ImagePullJob, secrets: readonly SecretReference[]): Tally | undefined {
    const { podSelector } = job.spec;
    let pods: HeldPods<Pod> | undefined;
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
      const dueAt = nodeImageDueAt(seenNode(node), options.nodeImageCreationDelayMs);
      if (dueAt !== undefined) last = Math.max(last ?? dueAt, dueAt);
    }
    return last;
  }

  #assign(key: string, job: ImagePullJob, tally: Tally, plan: PullJobPlan): void {
    const lacking = plan.supply ? tally.nodes.lackingNodes() : [];
    for (const node of [...lacking, ...tally.nodes.first(plan.tell)]) {
      void this.#write(key, job, tally, node);
    }
  }

  async #write(key: string, job: ImagePullJob, { target, nodes }: Tally, node: string): Promise<void> {
    const { clock, log, options, queue, random, signal } = this.#deps;
    nodes.beginWrite(node);
    try {
      const task = { ttlSeconds: options.pullTaskTtlSeconds, random, now: clock.now() };
      await this.#writer.write(node, (nodeImage) => withTask(nodeImage, job, target, task));
      this.#refusals.get(key)?.forget(node);
    } catch (error) {
      if (signal.aborted) return;
      log.warn("an image could not be assigned to a node", { error, object: key, node });
      this.#hold(key, nodes, node, error);
    } finally {
      nodes.endWrite(node);
      queue.addAfter(key, this.coalescingMs(key));
    }
  }

  #hold(key: string, nodes: Tally["nodes"], node: string, error: unknown): void {
    const { clock, queue } = this.#deps;
    // Ended meanwhile: nobody would take the count away again.
    if (this.#tallies.get(key) === undefined) return;
    const refusals = this.#refusals.get(key) ?? new Backoff({ clock, ...REFUSALS });
    this.#refusals.set(key, refusals);
    const pause = refusals.failed(node, error);
    nodes.hold(node, clock.monotonic() + pause);
    queue.addAfter(key, pause);
  }

  /** Nothing more is counted or assigned for the job. */
  #end(key: string): void {
    this.#tallies.forget(key);
    this.#pods.release(key);
    this.#refusals.delete(key);
  }
}
