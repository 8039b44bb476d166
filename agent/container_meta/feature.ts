/** Reports what runs in the pods of this node, and restarts containers whose environment is to change. */
import { isJsonObject, keyOf, queueObserver, runController, WorkQueue } from "../../kube/index.ts";
import { methods } from "../../proto/cri/index.ts";
import { observeContainers, type SeenContainer } from "../containers/observe.ts";
import { envEncoding } from "../containers/recreate.ts";
import { restartContainer } from "../containers/restart.ts";
import type { AgentContext, Feature } from "../context.ts";
import type { CriClient } from "../cri/client.ts";
import { type AgentPod, agentPods } from "../pod.ts";
import { actualEnvHash, hasNoMetadataEnv, metaAnnotation, needsReport, planContainerMeta } from "./plan.ts";

const component = "kruise-daemon-containermeta";
const execSeconds = 3;
const retryEnvMs = 3_000;
const shortestRestartMs = 3_000;
const longestRestartMs = 600_000;

export function startContainerMeta(context: AgentContext): Feature {
  const { clock, metrics, pods, settings } = context;
  const log = context.log.with({ component });
  const withEnv = settings.gates.InPlaceUpdateEnvFromMetadata;
  const meta = new WorkQueue({
    clock,
    baseDelayMs: 500,
    maxDelayMs: 50_000,
    observer: queueObserver(metrics, "runtime_container_meta"),
  });
  const restarts = new WorkQueue({
    clock,
    baseDelayMs: shortestRestartMs,
    maxDelayMs: longestRestartMs,
    observer: queueObserver(metrics, "runtime_container_meta_restarter"),
  });
  /** Container id -> where it belongs, for the restart queue. */
  const toRestart = new Map<string, { podKey: string; name: string }>();
  const unsubscribe = pods.subscribe(({ type, object }) => {
    if (type !== "removed" && needsReport(object, withEnv)) meta.add(keyOf(object));
  });
  const unsubscribeFinder = context.finder.subscribe((runtime) => {
    if (!runtime) return;
    for (const pod of pods.values()) if (needsReport(pod, withEnv)) meta.add(keyOf(pod));
  });
  const stopping = new AbortController();
  const { signal } = stopping;

  async function report(key: string): Promise<{ wakeAfterMs?: number } | undefined> {
    const pod = await pods.pod(key, signal);
    if (!pod || !needsReport(pod, withEnv)) return undefined;
    const runtime = context.finder.current;
    if (!runtime) return undefined;
    const containers = await observeContainers(runtime.client, pod.uid, signal);
    const { hashes, missing } = withEnv ? await envHashes(runtime.client, pod, containers, signal) : noHashes;
    const plan = planContainerMeta({ pod, containers, envHashes: hashes }, withEnv);
    if (plan.annotation !== undefined) {
      const body = { metadata: { uid: pod.uid, annotations: { [metaAnnotation]: plan.annotation } } };
      const ref = { namespace: pod.namespace, name: pod.name };
      const options = { subresource: "status", priority: "normal", signal } as const;
      pods.writeBack(await context.client.patch(agentPods, ref, { type: "strategic", body }, options));
    }
    for (const container of plan.restart) {
      toRestart.set(container.id, { podKey: key, name: container.name });
      restarts.add(container.id);
    }
    return missing ? { wakeAfterMs: retryEnvMs } : undefined;
  }

  async function restart(containerId: string): Promise<{ wakeAfterMs?: number } | undefined> {
    const place = toRestart.get(containerId);
    const runtime = context.finder.current;
    const pod = place && (await pods.pod(place.podKey, signal));
    if (!place || !pod) {
      toRestart.delete(containerId);
      return undefined;
    }
    if (!runtime) return { wakeAfterMs: shortestRestartMs };
    const container = (await observeContainers(runtime.client, pod.uid, signal)).get(place.name);
    const planned =
      container &&
      planContainerMeta(
        { pod, containers: new Map([[place.name, container]]), envHashes: new Map() },
        withEnv,
      );
    if (
      !container ||
      container.id !== containerId ||
      !planned?.restart.some((one) => one.id === containerId)
    ) {
      toRestart.delete(containerId);
      return undefined;
    }
    const what = `containerID ${runtimeOf(pod, container)}://${container.name}`;
    const order = {
      component,
      reason: "meta",
      message: `Stopping ${what} by container meta restarter`,
    } as const;
    await restartContainer(context, { ...order, client: runtime.client, pod, container, signal });
    toRestart.delete(containerId);
    return undefined;
  }

  const common = { clock, log, metrics, signal };
  const running = [
    runController({ ...common, name: "runtime_container_meta", queue: meta, workers: 5, reconcile: report }),
    runController({
      ...common,
      name: "runtime_container_meta_restarter",
      queue: restarts,
      workers: 10,
      reconcile: restart,
    }),
  ];
  return {
    name: "podInformerSynced",
    synced: pods.synced,
    async stop() {
      unsubscribe();
      unsubscribeFinder();
      stopping.abort();
      await Promise.all(running);
    },
  };
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
 * without an `env` program; where the runtime does not tell, from `env` in the container.
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
