/** Reports what runs in the pods of this node, and restarts containers whose environment is to change. */
import { isJsonObject, keyOf, queueObserver, runController, WorkQueue } from "../../kube/index.ts";
import {
  type AgentPod,
  actualEnvHash,
  hasNoMetadataEnv,
  isKubeletBehind,
  metaAnnotation,
  needsReport,
  PendingRestarts,
  planContainerMeta,
} from "../../node/index.ts";
import { methods } from "../../proto/cri/index.ts";
import { envEncoding } from "../containers/next_attempt.ts";
import { observeContainers, type SeenContainer } from "../containers/observe.ts";
import { stopTermsOf } from "../containers/restarter.ts";
import type { AgentContext, Feature } from "../context.ts";
import type { CriClient } from "../cri/client.ts";
import { agentPods } from "../pod_watch.ts";

const component = "kruise-daemon-containermeta";
const reporter = "runtime_container_meta";
const restarter = "runtime_container_meta_restarter";
const execSeconds = 3;
const retryEnvMs = 3_000;
const shortestRestartMs = 3_000;
const longestRestartMs = 600_000;

export function startContainerMeta(context: AgentContext): Feature {
  const meta = new ContainerMeta(context);
  return { name: "podInformerSynced", synced: context.pods.synced, stop: () => meta.stop() };
}

type Rounds = Promise<{ requeueAfterMs?: number } | undefined>;

class ContainerMeta {
  readonly #context: AgentContext;
  readonly #withEnv: boolean;
  /** Pods to report on, by `namespace/name`. */
  readonly #reports: WorkQueue;
  /** Containers to restart, by id. */
  readonly #restarts: WorkQueue;
  /** What the restart queue's ids stand for. */
  readonly #pending = new PendingRestarts();
  readonly #stopping = new AbortController();
  readonly #unsubscribe: readonly (() => void)[];
  readonly #running: readonly Promise<void>[];

  constructor(context: AgentContext) {
    const { clock, metrics, pods, settings } = context;
    this.#context = context;
    this.#withEnv = settings.gates.InPlaceUpdateEnvFromMetadata;
    this.#reports = new WorkQueue({
      clock,
      baseDelayMs: 500,
      maxDelayMs: 50_000,
      observer: queueObserver(metrics, reporter),
    });
    this.#restarts = new WorkQueue({
      clock,
      baseDelayMs: shortestRestartMs,
      maxDelayMs: longestRestartMs,
      observer: queueObserver(metrics, restarter),
    });
    this.#unsubscribe = [
      pods.subscribe(({ type, object }) => {
        if (type !== "removed") this.#look(object);
      }),
      context.finder.subscribe((runtime) => {
        if (runtime) for (const pod of pods.values()) this.#look(pod);
      }),
    ];
    // What came while other features started is not announced again.
    for (const pod of pods.values()) this.#look(pod);
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  #run(): readonly Promise<void>[] {
    const { clock, metrics } = this.#context;
    const log = this.#context.log.with({ component });
    const common = { clock, log, metrics, signal: this.#stopping.signal };
    return [
      runController({
        ...common,
        name: reporter,
        queue: this.#reports,
        workers: 5,
        reconcile: (key) => this.#report(key),
      }),
      runController({
        ...common,
        name: restarter,
        queue: this.#restarts,
        workers: 10,
        reconcile: (id) => this.#restart(id),
      }),
    ];
  }

  #look(pod: AgentPod): void {
    if (needsReport(pod, this.#withEnv)) this.#reports.add(keyOf(pod));
  }

  async #report(key: string): Rounds {
    const { clock, finder, pods } = this.#context;
    const { signal } = this.#stopping;
    const pod = await pods.pod(key, signal);
    if (!pod || !needsReport(pod, this.#withEnv)) return undefined;
    const runtime = finder.current;
    if (!runtime) return undefined;
    const containers = await observeContainers(runtime.client, pod.uid, signal);
    const { hashes, missing } = this.#withEnv
      ? await envHashes(runtime.client, pod, containers, signal)
      : noHashes;
    const plan = planContainerMeta({ pod, containers, envHashes: hashes }, this.#withEnv);
    if (plan.annotation !== undefined) await this.#write(pod, plan.annotation);
    for (const { name, containerId: id, wanted } of plan.restart) {
      this.#restarts.addAfter(id, this.#pending.ask(id, { podKey: key, name, wanted }, clock.monotonic()));
    }
    return missing ? { requeueAfterMs: retryEnvMs } : undefined;
  }

  async #write({ namespace, name, uid }: AgentPod, annotation: string): Promise<void> {
    const { client, pods } = this.#context;
    const { signal } = this.#stopping;
    const body = { metadata: { uid, annotations: { [metaAnnotation]: annotation } } };
    const options = { subresource: "status", priority: "normal", signal } as const;
    pods.writeBack(await client.patch(agentPods, { namespace, name }, { type: "strategic", body }, options));
  }

  async #restart(containerId: string): Rounds {
    const { clock, finder, pods } = this.#context;
    const { signal } = this.#stopping;
    const place = this.#pending.get(containerId);
    const runtime = finder.current;
    const pod = place && (await pods.pod(place.podKey, signal));
    if (!place || !pod) {
      this.#pending.delete(containerId);
      return undefined;
    }
    if (!runtime) return { requeueAfterMs: shortestRestartMs };
    const container = (await observeContainers(runtime.client, pod.uid, signal)).get(place.name);
    const wanted = container?.id === containerId ? this.#wanted(pod, container) : undefined;
    if (container && wanted !== undefined) {
      const leftMs = this.#pending.ask(containerId, { ...place, wanted }, clock.monotonic());
      if (leftMs > 0) return { requeueAfterMs: leftMs };
      // Its report is an event of the pod, and that comes here at once.
      if (isKubeletBehind(pod)) return { requeueAfterMs: shortestRestartMs };
      await this.#restartOne(runtime.client, pod, container);
    }
    this.#pending.delete(containerId);
    return undefined;
  }

  /** The pod may have changed since the report; undefined: its container needs no restart any more. */
  #wanted(pod: AgentPod, container: SeenContainer): number | undefined {
    const containers = new Map([[container.name, container]]);
    const { restart } = planContainerMeta({ pod, containers, envHashes: new Map() }, this.#withEnv);
    return restart.find((one) => one.containerId === container.id)?.wanted;
  }

  #restartOne(client: CriClient, pod: AgentPod, container: SeenContainer): Promise<void> {
    const message = `Stopping containerID ${runtimeOf(pod, container)}://${container.name} by container meta restarter`;
    const terms = { ...stopTermsOf(pod, container), component, reason: "meta", message } as const;
    return this.#context.restarter.restart({ client, pod, container }, terms, this.#stopping.signal);
  }
}

const noHashes = { hashes: new Map<string, number>(), missing: false };

/** Real env hashes of running containers by id; `missing` when one could not be read. */
async function envHashes(
  client: CriClient,
  pod: AgentPod,
  containers: ReadonlyMap<string, SeenContainer>,
  signal: AbortSignal,
): Promise<{ hashes: Map<string, number>; missing: boolean }> {
  const hashes = new Map<string, number>();
  let missing = false;
  for (const container of pod.containers) {
    const seen = containers.get(container.name);
    if (seen?.state !== "running") continue;
    const values = hasNoMetadataEnv(container)
      ? new Map<string, string>()
      : await envOf(client, seen, signal);
    if (values) hashes.set(seen.id, actualEnvHash(container, values));
    else missing = true;
  }
  return { hashes, missing };
}

/**
 * The environment that the container was started with: from the runtime's own record, which also works for images
 * without an `env` program; where the runtime does not report it, from `env` in the container.
 */
async function envOf(
  client: CriClient,
  seen: SeenContainer,
  signal: AbortSignal,
): Promise<Map<string, string> | undefined> {
  try {
    const { info } = await client.call(
      methods.ContainerStatus,
      { container_id: seen.id, verbose: true },
      { signal },
    );
    const recorded = recordedEnv(info["info"]);
    if (recorded) return recorded;
    const answer = await client.call(
      methods.ExecSync,
      { container_id: seen.id, cmd: ["env"], timeout: execSeconds },
      { signal },
    );
    if (answer.exit_code !== 0) return undefined;
    const lines = Buffer.from(answer.stdout).toString().split("\n");
    return new Map(
      lines
        .filter((line) => line.includes("="))
        .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
    );
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

export function recordedEnv(info: string | undefined): Map<string, string> | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(info ?? "null");
  } catch {
    return undefined;
  }
  const config = isJsonObject(parsed) ? parsed["config"] : undefined;
  const envs = isJsonObject(config) ? config["envs"] : undefined;
  const encoding = envEncoding(envs);
  if (!Array.isArray(envs) || !encoding) return undefined;
  const entries = envs
    .filter(isJsonObject)
    .map(({ key, value = "" }): [string, string] => [
      String(key),
      encoding === "base64" ? Buffer.from(String(value), "base64").toString() : String(value),
    ]);
  return new Map(entries);
}

function runtimeOf(pod: AgentPod, container: SeenContainer): string {
  const status = pod.containerStatuses.find((one) => one.name === container.name);
  return status?.containerID.split("://")[0] ?? "";
}
