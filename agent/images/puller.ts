/** Carries out what `planNodeImage` decides: keeps one pull per wanted tag, and the NodeImage's status up to date. */
import type { NodeImage, NodeImageSpec, NodeImageStatus } from "../../crds/index.ts";
import type { EventRecorder } from "../../kube/index.ts";
import {
  endedTask,
  fullRepository,
  type OwnerRef,
  type PullOrder,
  type PullResult,
  type PullTask,
  planNodeImage,
  pullEvent,
  pullOrder,
  type SecretRef,
  taskKey,
} from "../../node/index.ts";
import type { AgentContext } from "../context.ts";
import type { StatusWriter } from "../status_writer.ts";
import { Tasks } from "../tasks.ts";
import type { ImageService } from "./image_service.ts";
import type { Keyring } from "./keyring.ts";
import { pullImage } from "./pull.ts";

export interface PullerDependencies extends Pick<AgentContext, "clock" | "log"> {
  readonly agentMetrics: Pick<AgentContext["agentMetrics"], "pulled">;
  readonly images: ImageService;
  readonly keyring: Pick<Keyring, "logins">;
  readonly metrics: Pick<AgentContext["metrics"], "unexpectedError">;
  readonly recorder: EventRecorder;
  readonly settings: Pick<AgentContext["settings"], "maxPulls" | "nodeName">;
  readonly status: StatusWriter<NodeImageStatus>;
  /** Called with all that are finished, whenever they are others, so that they survive a crash of this process. */
  readonly finished: (tasks: readonly PullTask[]) => void;
}

const apiVersion = "apps.kruise.io/v1beta1";

export class Puller {
  readonly #dependencies: PullerDependencies;
  readonly #pulls: Tasks;
  #nodeImage: NodeImage | undefined;
  #tasks: ReadonlyMap<string, PullTask>;
  /** The tasks are still those from before the restart. */
  #remembered = true;
  #stopped = false;

  /** `known`: tasks that were finished before a restart of this process. */
  constructor(dependencies: PullerDependencies, known: readonly PullTask[] = []) {
    this.#dependencies = dependencies;
    this.#pulls = new Tasks({ ...dependencies, kind: "pull" });
    this.#tasks = new Map(known.map((task) => [taskKey(task.image, task.tag), task]));
  }

  /** The NodeImage as the server has it; undefined when there is none. */
  update(nodeImage: NodeImage | undefined): void {
    this.#nodeImage = nodeImage;
    if (this.#remembered) this.#tasks = stillMeant(this.#tasks, nodeImage?.spec ?? {});
    this.#remembered = false;
    if (nodeImage) {
      this.#dependencies.status.observed(nodeImage.status);
      this.#replan();
      return;
    }
    for (const key of this.#tasks.keys()) this.#pulls.stop(key);
    this.#take(new Map());
  }

  /** The runtime appeared or went away. */
  runtimeChanged(): void {
    this.#replan();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#pulls.stopAll();
    await this.#dependencies.status.stop();
  }

  #replan(): void {
    const nodeImage = this.#nodeImage;
    if (this.#stopped || !nodeImage) return;
    const { clock, images, settings, status } = this.#dependencies;
    const { maxPulls } = settings;
    const { missing } = images;
    const runtime = { runtimeReady: missing === undefined, reason: missing ?? "" };
    const seen = { spec: nodeImage.spec, status: nodeImage.status, tasks: this.#tasks, maxPulls, ...runtime };
    const plan = planNodeImage(seen, clock.now());
    this.#take(plan.tasks);
    for (const key of plan.stop) this.#pulls.stop(key);
    for (const key of plan.start) this.#startPull(key, nodeImage.spec);
    status.offer(plan.status);
  }

  #startPull(key: string, spec: NodeImageSpec): void {
    const task = this.#tasks.get(key);
    const order = task && pullOrder(task, spec, this.#dependencies.clock.now());
    if (task && order) this.#pulls.start(key, (signal) => this.#pull(task, order, signal));
  }

  async #pull(task: PullTask, order: PullOrder, signal: AbortSignal): Promise<void> {
    const { clock, images, keyring } = this.#dependencies;
    const began = clock.monotonic();
    const result = await pullImage(order, {
      images,
      logins: (until) => keyring.logins(this.#secretsNow(task, order), fullRepository(order.image), until),
      clock,
      signal,
    });
    if (signal.aborted) return;
    const tookMs = clock.monotonic() - began;
    this.#settle(task, result);
    this.#report(task, order.owners, result, tookMs);
  }

  /** A secret that comes late is added to the spec while the pull runs. */
  #secretsNow(task: PullTask, { secrets }: PullOrder): readonly SecretRef[] {
    const spec = this.#nodeImage?.spec ?? {};
    return pullOrder(task, spec, this.#dependencies.clock.now())?.secrets ?? secrets;
  }

  #settle(task: PullTask, result: PullResult): void {
    const key = taskKey(task.image, task.tag);
    const current = this.#tasks.get(key);
    if (current?.version !== task.version) return;
    const ended = endedTask(current, result, this.#dependencies.clock.now());
    this.#take(new Map([...this.#tasks, [key, ended]]));
    this.#replan();
  }

  #take(tasks: ReadonlyMap<string, PullTask>): void {
    const before = new Set(finishedOf(this.#tasks));
    this.#tasks = tasks;
    const finished = finishedOf(tasks);
    if (finished.length !== before.size || finished.some((task) => !before.has(task)))
      this.#dependencies.finished(finished);
  }

  #report(task: PullTask, owners: readonly OwnerRef[], result: PullResult, tookMs: number): void {
    const { agentMetrics, log, recorder, settings } = this.#dependencies;
    const { type, reason, message } = pullEvent(task, result, tookMs);
    agentMetrics.pulled(result.ok ? (result.pulled ? "succeeded" : "present") : "failed", tookMs / 1000);
    if (!result.ok)
      log.warn("an image could not be pulled", {
        image: `${task.image}:${task.tag}`,
        message: result.message,
      });
    const uid = this.#nodeImage?.metadata.uid ?? "";
    const nodeImage = { apiVersion, kind: "NodeImage", name: settings.nodeName, uid };
    for (const target of [nodeImage, ...(result.ok ? [] : owners.map(jobOf))])
      recorder.event(target, type, reason, message);
  }
}

function finishedOf(tasks: ReadonlyMap<string, PullTask>): PullTask[] {
  return [...tasks.values()].filter((task) => task.completedAt !== undefined);
}

/** What an event about the job is about that asked for a tag. */
function jobOf(owner: OwnerRef) {
  const { kind = "ImagePullJob", name = "", namespace, uid = "" } = owner;
  return { apiVersion: owner.apiVersion ?? apiVersion, kind, namespace, name, uid };
}

/**
 * A task remembered from before a restart does not answer a tag that was asked for after it ended. Files of older agents do not say
 * when theirs was asked for; the clock of who asks may be another one than that of this node.
 */
function stillMeant(
  tasks: ReadonlyMap<string, PullTask>,
  spec: NodeImageSpec,
): ReadonlyMap<string, PullTask> {
  return new Map(
    [...tasks].filter(([, task]) => {
      const tag = spec.images?.[task.image]?.tags?.find((one) => one.tag === task.tag);
      if (tag !== undefined && task.createdAt !== undefined) return tag.createdAt === task.createdAt;
      const createdAt = Date.parse(tag?.createdAt ?? "");
      return Number.isNaN(createdAt) || task.completedAt === undefined || task.completedAt >= createdAt;
    }),
  );
}
