/** Carries out what `planNodeImage` decides: keeps one pull per wanted tag, and the NodeImage's status up to date. */
import type { NodeImage, NodeImageSpec, NodeImageStatus } from "../../crds/index.ts";
import type { Clock, Log, Metrics } from "../../kube/index.ts";
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
import { AgentError } from "../errors.ts";
import type { StatusWriter } from "../status_writer.ts";
import type { Login } from "./docker_config.ts";
import { type ImageService, pullImage } from "./pull.ts";

export interface PullerDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "unexpectedError">;
  /** `--max-workers-for-pull-image`; 0 or less is no limit. */
  readonly maxPulls: number;
  /** The image service, or undefined and the reason why there is none. */
  readonly runtime: () =>
    | { readonly service: ImageService }
    | { readonly service: undefined; readonly reason: string };
  /** Logins for a repository such as `docker.io/library/nginx`; throws AgentError `Config` on a malformed secret. */
  readonly logins: (
    secrets: readonly SecretRef[],
    repository: string,
    signal: AbortSignal,
  ) => Promise<readonly Login[]>;
  readonly status: StatusWriter<NodeImageStatus>;
  /** Events on the NodeImage and, for failures, on the jobs that asked for the tag. */
  readonly event: (
    type: "Normal" | "Warning",
    reason: string,
    message: string,
    owners: readonly OwnerRef[],
  ) => void;
  /** Told of each finished pull, so that it survives a crash of this process. */
  readonly finished?: (tasks: readonly PullTask[]) => void;
  readonly pulled?: (result: "succeeded" | "failed" | "present", seconds: number) => void;
}

export class Puller {
  readonly #dependencies: PullerDependencies;
  #spec: NodeImageSpec = {};
  #serverStatus: NodeImageStatus | undefined;
  #tasks: ReadonlyMap<string, PullTask>;
  #exists = false;
  /** The tasks are still those from before the restart. */
  #remembered = true;
  readonly #running = new Map<string, { abort: AbortController; done: Promise<void> }>();
  readonly #ending = new Set<Promise<void>>();
  #stopped = false;

  /** `known`: tasks that were finished before a restart of this process. */
  constructor(dependencies: PullerDependencies, known: readonly PullTask[] = []) {
    this.#dependencies = dependencies;
    this.#tasks = new Map(known.map((task) => [taskKey(task.image, task.tag), task]));
  }

  /** The NodeImage as the server has it; undefined when there is none. */
  update(nodeImage: NodeImage | undefined): void {
    this.#exists = nodeImage !== undefined;
    this.#spec = nodeImage?.spec ?? {};
    this.#serverStatus = nodeImage?.status;
    if (this.#remembered) this.#tasks = stillMeant(this.#tasks, this.#spec);
    this.#remembered = false;
    if (nodeImage) {
      this.#dependencies.status.observed(nodeImage.status);
      this.#replan();
      return;
    }
    this.#stopPulls();
    this.#tasks = new Map();
  }

  /** The runtime appeared or went away. */
  runtimeChanged(): void {
    this.#replan();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopPulls();
    await Promise.all(this.#ending);
    await this.#dependencies.status.stop();
  }

  #replan(): void {
    if (this.#stopped || !this.#exists) return;
    const { clock, maxPulls, runtime: present, status } = this.#dependencies;
    const runtime = present();
    const reason = runtime.service ? "" : runtime.reason;
    const seen = { spec: this.#spec, status: this.#serverStatus, tasks: this.#tasks, maxPulls };
    const plan = planNodeImage({ ...seen, runtimeReady: runtime.service !== undefined, reason }, clock.now());
    this.#tasks = plan.tasks;
    for (const key of plan.stop) this.#stopPull(key);
    for (const key of plan.start) this.#startPull(key);
    status.offer(plan.status);
  }

  #stopPulls(): void {
    for (const key of [...this.#running.keys()]) this.#stopPull(key);
  }

  #stopPull(key: string): void {
    const pull = this.#running.get(key);
    if (!pull) return;
    this.#running.delete(key);
    pull.abort.abort(new Error("pulling the image is stopped"));
  }

  #startPull(key: string): void {
    const task = this.#tasks.get(key);
    const order = task && pullOrder(task, this.#spec, this.#dependencies.clock.now());
    if (!task || !order) return;
    const abort = new AbortController();
    const done = this.#pull(task, order, abort.signal).catch((error: unknown) => {
      if (abort.signal.aborted) return;
      const { log, metrics } = this.#dependencies;
      metrics.unexpectedError("pull");
      log.error("a pull ended without a result", { error });
    });
    this.#running.set(key, { abort, done });
    this.#ending.add(done);
    void done.then(() => {
      this.#ending.delete(done);
      if (this.#running.get(key)?.done === done) this.#running.delete(key);
    });
  }

  async #pull(task: PullTask, order: PullOrder, signal: AbortSignal): Promise<void> {
    const { clock, logins } = this.#dependencies;
    const began = clock.monotonic();
    const result = await pullImage(order, {
      runtime: () => this.#service(),
      logins: (until) => logins(order.secrets, fullRepository(order.image), until),
      clock,
      signal,
    });
    if (signal.aborted) return;
    const tookMs = clock.monotonic() - began;
    this.#settle(task, result);
    this.#report(task, order.owners, result, tookMs);
  }

  #service(): ImageService {
    const runtime = this.#dependencies.runtime();
    if (!runtime.service) throw new AgentError("Unavailable", runtime.reason);
    return runtime.service;
  }

  #settle(task: PullTask, result: PullResult): void {
    const key = taskKey(task.image, task.tag);
    if (this.#tasks.get(key)?.version !== task.version) return;
    const { clock, finished } = this.#dependencies;
    this.#tasks = new Map([...this.#tasks, [key, endedTask(task, result, clock.now())]]);
    finished?.([...this.#tasks.values()].filter((one) => one.completedAt !== undefined));
    this.#replan();
  }

  #report(task: PullTask, owners: readonly OwnerRef[], result: PullResult, tookMs: number): void {
    const { event, log, pulled } = this.#dependencies;
    const { type, reason, message } = pullEvent(task, result, tookMs);
    pulled?.(result.ok ? (result.pulled ? "succeeded" : "present") : "failed", tookMs / 1000);
    if (!result.ok)
      log.warn("an image could not be pulled", {
        image: `${task.image}:${task.tag}`,
        message: result.message,
      });
    event(type, reason, message, result.ok ? [] : owners);
  }
}

/** A task remembered from before a restart does not answer a tag that was asked for after it ended. */
function stillMeant(
  tasks: ReadonlyMap<string, PullTask>,
  spec: NodeImageSpec,
): ReadonlyMap<string, PullTask> {
  return new Map(
    [...tasks].filter(([, task]) => {
      const tag = spec.images?.[task.image]?.tags?.find((one) => one.tag === task.tag);
      const createdAt = Date.parse(tag?.createdAt ?? "");
      return Number.isNaN(createdAt) || task.completedAt === undefined || task.completedAt >= createdAt;
    }),
  );
}
