/** The shell of ImagePullJob: counts nodes as they report, and carries out what the plan says. No policy here. */
import { type ImagePullJob, type NodeImage, pullJobFinalizer } from "../../crds/index.ts";
import { keyOf, objectRef } from "../../kube/core/index.ts";
import { type Cache, isKubeError, type KubeError, type Outcome, type Pod } from "../../kube/index.ts";
import type { KindDeps, KindShell } from "../kind.ts";
import type { SecretReference } from "../node_image/model.ts";
import { nodeImageResource } from "../node_image/resource.ts";
import { NodeImageWriter } from "../node_image/writer.ts";
import { hasFinalizer, pullSecretResource } from "../pull_secrets.ts";
import { type StatusWriter, statusWriterOf } from "../rollout/status_writer.ts";
import type { HeldPods, PodNeeds } from "../selected_pods.ts";
import { type PullJobPlan, planImagePullJob } from "./plan.ts";
import { JobSecrets } from "./secrets.ts";
import { Tallies, type Tally } from "./tallies.ts";
import { withTask } from "./task.ts";

/** Others are written to first while a node refuses; then it is tried again, each time after a longer pause. */
const FIRST_HOLD_MS = 1000;
const LONGEST_HOLD_MS = 300_000;
const RETRY_MS = 100;
/** Reports of many nodes are gathered: longest time, and nodes per millisecond of it. */
const LONGEST_COALESCING_MS = 200;
const NODES_PER_MS = 20;
const LIST_JOB = "ImageListPullJob";

type ImagePullJobDeps = Pick<
  KindDeps<ImagePullJob>,
  | "client"
  | "clock"
  | "informers"
  | "log"
  | "objects"
  | "options"
  | "queue"
  | "random"
  | "recorder"
  | "resource"
  | "selectPods"
  | "selectedPods"
  | "signal"
>;

export function imagePullJobShell(deps: ImagePullJobDeps): KindShell {
  return new ImagePullJobShell(deps);
}

class ImagePullJobShell implements KindShell {
  readonly #deps: ImagePullJobDeps;
  readonly #nodeImages: Cache<NodeImage>;
  readonly #writer: NodeImageWriter;
  readonly #tallies: Tallies;
  readonly #secrets: JobSecrets;
  readonly #pods: PodNeeds<Pod>;
  readonly #status: StatusWriter;
  /** Refusals in a row, by job and node. */
  readonly #refusals = new Map<string, Map<string, number>>();

  constructor(deps: ImagePullJobDeps) {
    this.#deps = deps;
    const { client, informers, log, queue, recorder, signal } = deps;
    this.#nodeImages = informers.cacheOf(nodeImageResource);
    this.#writer = new NodeImageWriter({
      client,
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
      log,
      recorder,
      signal,
      secrets: deps.selectPods(pullSecretResource),
      namespace: deps.options.daemonConfigNamespace,
      wake: (key) => queue.add(key),
    });
    this.#status = statusWriterOf(deps);
  }

  coalescingMs(key: string): number {
    const nodes = this.#tallies.get(key)?.nodes.desired ?? 0;
    return Math.min(LONGEST_COALESCING_MS, Math.floor(nodes / NODES_PER_MS));
  }

  forget(key: string, uid: string): void {
    this.#end(key);
    this.#secrets.forget(key);
    this.#status.forget(uid);
  }

  drained(): Promise<void> {
    return this.#writer.drained();
  }

  async reconcile(key: string): Promise<Outcome> {
    const job = this.#deps.objects.get(key);
    if (job === undefined) return {};
    try {
      return await this.#pass(key, job);
    } catch (error) {
      if (!isKubeError(error, "Conflict", "NotFound") || isMissingNamespace(error)) throw error;
      // Somebody was faster: the watch brings what they did.
      return { wakeAfterMs: RETRY_MS };
    }
  }

  async #pass(key: string, job: ImagePullJob): Promise<Outcome> {
    const { clock } = this.#deps;
    const isOver = job.metadata.deletionTimestamp !== undefined || job.status?.completionTime !== undefined;
    if (isOver) this.#end(key);
    const guarded = hasFinalizer(job, pullJobFinalizer);
    const mayCopy = guarded || (job.spec.pullSecrets ?? []).length === 0;
    const secrets = isOver || !mayCopy ? undefined : await this.#secrets.provide(key, job);
    if (!this.#deps.objects.holds(key, job.metadata.uid)) return {};
    const tally = secrets === undefined ? undefined : this.#tally(key, job, secrets);
    tally?.nodes.releaseHeld(clock.monotonic());
    const seen = { job, nodes: tally?.nodes, guarded, ownedByList: isOwnedByList(job) };
    const plan = planImagePullJob(seen, clock.now());
    if (plan.guard) await this.#patchFinalizers(job, [...(job.metadata.finalizers ?? []), pullJobFinalizer]);
    if (plan.release) await this.#release(key, job);
    if (plan.remove) await this.#remove(job);
    if (!this.#deps.objects.holds(key, job.metadata.uid)) return {};
    if (tally !== undefined) this.#tell(key, job, tally, plan);
    return { wakeAfterMs: earlier(plan.wakeAfterMs, this.#offer(key, job, plan, tally)) };
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

  #tell(key: string, job: ImagePullJob, tally: Tally, plan: PullJobPlan): void {
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
      this.#refusals.get(key)?.delete(node);
    } catch (error) {
      if (signal.aborted) return;
      log.warn("a node could not be told of an image", { error, object: key, node });
      this.#hold(key, nodes, node);
    } finally {
      nodes.endWrite(node);
      queue.addAfter(key, this.coalescingMs(key));
    }
  }

  #hold(key: string, nodes: Tally["nodes"], node: string): void {
    const { clock, queue } = this.#deps;
    // Ended meanwhile: nobody would take the count away again.
    if (this.#tallies.get(key) === undefined) return;
    const refusals = this.#refusals.get(key) ?? new Map<string, number>();
    this.#refusals.set(key, refusals);
    const count = refusals.get(node) ?? 0;
    refusals.set(node, count + 1);
    const pause = Math.min(LONGEST_HOLD_MS, FIRST_HOLD_MS * 2 ** Math.min(count, 30));
    nodes.hold(node, clock.monotonic() + pause);
    queue.addAfter(key, pause);
  }

  #offer(key: string, job: ImagePullJob, plan: PullJobPlan, tally: Tally | undefined): number | undefined {
    if (plan.status === undefined) return undefined;
    const size = tally?.nodes.desired ?? 0;
    const isFinal = plan.status.completionTime !== undefined;
    const target = { key, uid: job.metadata.uid ?? "" };
    return this.#status.offer(target, job.status, plan.status, size, isFinal);
  }

  async #patchFinalizers(job: ImagePullJob, finalizers: readonly string[]): Promise<void> {
    const { client, objects, resource, signal } = this.#deps;
    const { resourceVersion = "", uid = "" } = job.metadata;
    const body = { metadata: { resourceVersion, finalizers } };
    const patch = { type: "merge", body } as const;
    const written = await client.patch(resource, objectRef(job), patch, { signal, flow: uid });
    const isGone = written.metadata.deletionTimestamp !== undefined && finalizers.length === 0;
    if (isGone) objects.remove(keyOf(objectRef(job)), uid);
    else if (objects.writeBack(written)) this.#deps.queue.add(keyOf(objectRef(job)));
  }

  async #release(key: string, job: ImagePullJob): Promise<void> {
    if (!(await this.#secrets.giveBack(key, job))) return;
    const left = (job.metadata.finalizers ?? []).filter((each) => each !== pullJobFinalizer);
    await this.#patchFinalizers(job, left);
  }

  async #remove(job: ImagePullJob): Promise<void> {
    const { client, resource, signal } = this.#deps;
    const { uid = "" } = job.metadata;
    await client.delete(resource, objectRef(job), {
      uid,
      propagationPolicy: "Background",
      signal,
      flow: uid,
    });
  }

  /** Nothing more is counted or told for the job. */
  #end(key: string): void {
    this.#tallies.forget(key);
    this.#pods.release(key);
    this.#refusals.delete(key);
  }
}

function isOwnedByList({ metadata }: ImagePullJob): boolean {
  return metadata.ownerReferences?.some(({ controller, kind }) => controller && kind === LIST_JOB) ?? false;
}

/** Copies of secrets have nowhere to go: that is for people to mend, and to hear of. */
function isMissingNamespace(error: KubeError): boolean {
  return error.code === "NotFound" && error.about?.kind === "namespaces";
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}
