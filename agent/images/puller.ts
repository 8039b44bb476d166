/** Carries out what `planNodeImage` decides: keeps one pull per wanted tag, and the NodeImage's status up to date. */
import type { NodeImage, NodeImageSpec, NodeImageStatus } from "../../crds/index.ts";
import type { Clock, Log } from "../../kube/index.ts";
import { AgentError } from "../errors.ts";
import { goDuration } from "../go_duration.ts";
import type { StatusWriter } from "../status_writer.ts";
import type { Login } from "./docker_config.ts";
import { type PullTask, planNodeImage, taskKey } from "./plan.ts";
import { type ImageService, type PullOrder, type PullResult, pullImage } from "./pull.ts";
import { fullRepository } from "./reference.ts";

type ImageSpec = NonNullable<NodeImageSpec["images"]>[string];
type TagSpec = ImageSpec["tags"][number];
export type SecretRef = NonNullable<ImageSpec["pullSecrets"]>[number];
export type OwnerRef = NonNullable<TagSpec["ownerReferences"]>[number];

export interface PullerDependencies {
  readonly clock: Clock;
  readonly log: Log;
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

export interface Puller {
  /** The NodeImage as the server has it; undefined when there is none. */
  update(nodeImage: NodeImage | undefined): void;
  /** The runtime appeared or went away. */
  runtimeChanged(): void;
  stop(): Promise<void>;
}

/** `known`: tasks that were finished before a restart of this process. */
export function createPuller(dependencies: PullerDependencies, known: readonly PullTask[] = []): Puller {
  const { clock, log } = dependencies;
  let spec: NodeImageSpec = {};
  let serverStatus: NodeImageStatus | undefined;
  let tasks: ReadonlyMap<string, PullTask> = new Map(
    known.map((task) => [taskKey(task.image, task.tag), task]),
  );
  let exists = false;
  let remembered = true;
  const running = new Map<string, { abort: AbortController; done: Promise<void> }>();
  const ending = new Set<Promise<void>>();
  let stopped = false;

  function replan(): void {
    if (stopped || !exists) return;
    const runtime = dependencies.runtime();
    const reason = runtime.service ? "" : runtime.reason;
    const seen = { spec, status: serverStatus, tasks, maxPulls: dependencies.maxPulls };
    const plan = planNodeImage({ ...seen, runtimeReady: runtime.service !== undefined, reason }, clock.now());
    tasks = plan.tasks;
    for (const key of plan.stop) stopPull(key);
    for (const key of plan.start) startPull(key);
    dependencies.status.offer(plan.status);
  }

  function stopPull(key: string): void {
    const pull = running.get(key);
    if (!pull) return;
    running.delete(key);
    pull.abort.abort(new Error("pulling the image is stopped"));
  }

  function startPull(key: string): void {
    const task = tasks.get(key);
    const image = task && spec.images?.[task.image];
    const tag = image?.tags.find((one) => one.tag === task?.tag);
    if (!task || !image || !tag) return;
    const abort = new AbortController();
    const done = pull(task, image, tag, abort.signal).catch((error: unknown) => {
      if (!abort.signal.aborted) log.error("a pull ended without a result", { error });
    });
    running.set(key, { abort, done });
    ending.add(done);
    void done.then(() => {
      ending.delete(done);
      if (running.get(key)?.done === done) running.delete(key);
    });
  }

  async function pull(task: PullTask, image: ImageSpec, tag: TagSpec, signal: AbortSignal): Promise<void> {
    const began = clock.monotonic();
    const order = pullOrder(task, image, tag, dependencies, clock.now());
    const service = (): ImageService => {
      const runtime = dependencies.runtime();
      if (!runtime.service) throw new AgentError("Unavailable", runtime.reason);
      return runtime.service;
    };
    const result = await pullImage(order, service, clock, signal);
    if (signal.aborted) return;
    const tookMs = clock.monotonic() - began;
    settle(task, result);
    report(task, tag.ownerReferences ?? [], result, tookMs);
  }

  function settle(task: PullTask, result: PullResult): void {
    const key = taskKey(task.image, task.tag);
    if (tasks.get(key)?.version !== task.version) return;
    const ended: PullTask = {
      ...task,
      completedAt: clock.now(),
      phase: result.ok ? "Succeeded" : "Failed",
      progress: result.ok ? 100 : 0,
      imageID: result.ok ? result.imageID : "",
      message: result.ok ? "" : result.message,
    };
    tasks = new Map([...tasks, [key, ended]]);
    dependencies.finished?.([...tasks.values()].filter((one) => one.completedAt !== undefined));
    replan();
  }

  function report(task: PullTask, owners: readonly OwnerRef[], result: PullResult, tookMs: number): void {
    const name = `${task.image}:${task.tag}`;
    if (result.ok) {
      dependencies.pulled?.(result.pulled ? "succeeded" : "present", tookMs / 1000);
      dependencies.event(
        "Normal",
        "PullImageSucceed",
        `Image ${name}, ecalpsedTime ${goDuration(tookMs)}`,
        [],
      );
    } else {
      dependencies.pulled?.("failed", tookMs / 1000);
      log.warn("an image could not be pulled", { image: name, message: result.message });
      dependencies.event("Warning", "PullImageFailed", `Image ${name} ${result.message}`, owners);
    }
  }

  return {
    update(nodeImage) {
      exists = nodeImage !== undefined;
      spec = nodeImage?.spec ?? {};
      serverStatus = nodeImage?.status;
      if (remembered) tasks = stillMeant(tasks, spec);
      remembered = false;
      if (nodeImage) {
        dependencies.status.observed(nodeImage.status);
        replan();
        return;
      }
      for (const key of [...running.keys()]) stopPull(key);
      tasks = new Map();
    },
    runtimeChanged: replan,
    async stop() {
      stopped = true;
      for (const key of [...running.keys()]) stopPull(key);
      await Promise.all(ending);
      await dependencies.status.stop();
    },
  };
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

const defaultTimeoutSeconds = 600;
const defaultBackoffLimit = 3;

/** An empty imagePullPolicy means Always at the agent (spec images N2). */
function pullOrder(
  task: PullTask,
  image: ImageSpec,
  tag: TagSpec,
  dependencies: PullerDependencies,
  now: number,
): PullOrder {
  const { timeoutSeconds, backoffLimit, activeDeadlineSeconds } = tag.pullPolicy ?? {};
  const spentMs = now - (task.startedAt ?? now);
  return {
    image: task.image,
    tag: task.tag,
    onlyIfAbsent: tag.imagePullPolicy === "IfNotPresent",
    timeoutSeconds:
      timeoutSeconds !== undefined && timeoutSeconds > 0 ? timeoutSeconds : defaultTimeoutSeconds,
    backoffLimit: backoffLimit ?? defaultBackoffLimit,
    deadlineMs:
      activeDeadlineSeconds === undefined ? undefined : Math.max(0, activeDeadlineSeconds * 1000 - spentMs),
    labels: image.sandboxConfig?.labels ?? {},
    annotations: image.sandboxConfig?.annotations ?? {},
    logins: (signal) => dependencies.logins(image.pullSecrets ?? [], fullRepository(task.image), signal),
  };
}
