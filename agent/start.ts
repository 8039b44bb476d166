/** Puts the agent together: listener first, then the runtime, then the features. */

import type { Registry } from "prom-client";
import {
  type Client,
  type Clock,
  createEvents,
  type Events,
  type HttpEndpoints,
  jsonResource,
  type KubeObject,
  type Log,
  type Metrics,
  metricsRoute,
  type Random,
  type Route,
  startHttpEndpoints,
} from "../kube/index.ts";
import { startContainerMeta } from "./container_meta/feature.ts";
import { ContainerRestarter } from "./containers/restarter.ts";
import type { AgentContext, Feature } from "./context.ts";
import { startImages } from "./images/feature.ts";
import { nodeKeyring } from "./images/node_keyring.ts";
import { startLiveness } from "./liveness/feature.ts";
import { type AgentMetrics, createAgentMetrics } from "./metrics.ts";
import { PodWatch } from "./pod_watch.ts";
import { ExecProbes } from "./probes/exec_probes.ts";
import { startProbes } from "./probes/feature.ts";
import { ProbeRunner } from "./probes/runner.ts";
import { startRestarts } from "./restarts/feature.ts";
import { type Runtime, type RuntimeFinder, startRuntimeFinder } from "./runtime_socket/finder.ts";
import type { AgentSettings } from "./settings.ts";
import { createStateStore, filesIn } from "./state/store.ts";
import { startSwaps } from "./swaps/feature.ts";

export interface AgentDependencies {
  readonly settings: AgentSettings;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly registry: Registry;
  /** Home folder, where Docker config files may be. */
  readonly home?: string | undefined;
}

export interface Agent {
  /** Port of the health checks and metrics. */
  readonly port: number;
  readonly finder: RuntimeFinder;
  stop(): Promise<void>;
}

interface NodeObject extends KubeObject {
  readonly status?: {
    readonly nodeInfo?: { readonly containerRuntimeVersion?: string; readonly kubeletVersion?: string };
  };
}
const nodes = jsonResource<NodeObject>({
  group: "",
  version: "v1",
  plural: "nodes",
  kind: "Node",
  namespaced: false,
});

/** Rejects only when the listener's address is taken; everything else is waited for. */
export async function startAgent(dependencies: AgentDependencies): Promise<Agent> {
  const { settings, registry } = dependencies;
  const features: Feature[] = [];
  const health = createHealth(features);
  const endpoints = await startHttpEndpoints({
    address: settings.address,
    log: dependencies.log,
    metrics: dependencies.metrics,
    routes: { ...health.routes, "/metrics": metricsRoute(registry) },
  });
  const agentMetrics = createAgentMetrics(registry);
  const events = createEvents({ ...dependencies, host: settings.nodeName });
  const finder = startFinder(dependencies, agentMetrics);
  health.watch(finder);
  reportRuntime(finder, settings.nodeName, events, agentMetrics.runtime);
  const context = createContext(dependencies, { agentMetrics, events, finder });
  await startFeatures(context, dependencies.home, features);
  health.watchFeatures();
  return { port: endpoints.port, finder, stop: () => stopAll(features, context, endpoints) };
}

function startFinder(
  { client, clock, log, settings }: AgentDependencies,
  agentMetrics: AgentMetrics,
): RuntimeFinder {
  return startRuntimeFinder({
    clock,
    log: log.with({ component: "runtime" }),
    settings: { socketFile: settings.socketFile, roots: settings.socketRoots },
    kubeletRuntime: async () => {
      const node = await client.get(nodes, { name: settings.nodeName }, { timeoutMs: 5_000 });
      return node.status?.nodeInfo?.containerRuntimeVersion;
    },
    observe: agentMetrics.criCall,
  });
}

function createContext(
  dependencies: AgentDependencies,
  made: Pick<AgentContext, "agentMetrics" | "events" | "finder">,
): AgentContext {
  const { client, clock, log, settings } = dependencies;
  const { nodeName, startedBy, gates } = settings;
  const pods = new PodWatch({ ...dependencies, nodeName, enabled: gates.DaemonWatchingPod });
  const state = createStateStore(
    filesIn(settings.stateFolder),
    log.with({ component: "state", folder: settings.stateFolder }),
  );
  const restarterLog = log.with({ component: "restarter" });
  const restarter = new ContainerRestarter({
    ...made,
    clock,
    log: restarterLog,
    startedBy,
    pods,
    // Read each time: a kubelet is replaced beside a running agent.
    kubeletVersion: async (signal) => {
      const node = await client
        .get(nodes, { name: nodeName }, { timeoutMs: 2_000, ...(signal ? { signal } : {}) })
        .catch((error: unknown) => restarterLog.debug("the kubelet's version is not known", { error }));
      return node?.status?.nodeInfo?.kubeletVersion;
    },
  });
  made.finder.subscribe((runtime) => {
    if (!runtime) return;
    restarter
      .cleanUp(runtime.client)
      .catch((error: unknown) => restarterLog.warn("no look for placeholders", { error }));
  });
  return {
    ...dependencies,
    ...made,
    state,
    pods,
    restarter,
    probes: new ProbeRunner(made.finder, new ExecProbes(clock, log.with({ component: "probes" }))),
  };
}

/** Adds each feature as it starts: the health check names those that are there. */
async function startFeatures(
  context: AgentContext,
  home: string | undefined,
  features: Feature[],
): Promise<void> {
  const { gates, directSwap } = context.settings;
  features.push(await startImages(context, await nodeKeyring(context, home)), await startRestarts(context));
  if (gates.PodProbeMarkerGate) features.push(startProbes(context));
  if (gates.DaemonWatchingPod) features.push(startContainerMeta(context));
  if (gates.EnhancedLivenessProbe) features.push(startLiveness(context));
  if (directSwap && gates.DaemonWatchingPod) features.push(startSwaps(context));
}

async function stopAll(
  features: readonly Feature[],
  context: AgentContext,
  endpoints: HttpEndpoints,
): Promise<void> {
  await Promise.all(features.map((feature) => feature.stop()));
  await context.pods.stop();
  await context.finder.stop();
  await context.events.stop();
  await context.state.flush();
  await endpoints.close();
}

interface Health {
  readonly routes: Readonly<Record<string, Route>>;
  watch(finder: RuntimeFinder): void;
  watchFeatures(): void;
}

/**
 * `/healthz` is about this process and stays 200: a missing runtime or a silent API server is no reason to kill it.
 * `/readyz` is 503 with the reasons while it cannot do its work (spec agent 4.2).
 */
function createHealth(features: readonly Feature[]): Health {
  let finder: RuntimeFinder | undefined;
  let started = false;
  const synced = new Set<string>();
  const plain = (status: number, body: string) => ({
    status,
    contentType: "text/plain; charset=utf-8",
    body,
  });
  return {
    routes: {
      "/healthz": async () => plain(200, "ok"),
      "/readyz": async () => {
        const reasons = features
          .filter((feature) => !synced.has(feature.name))
          .map((feature) => `check ${feature.name} failed, err: not synced`);
        if (!started) reasons.push("check features failed, err: not started");
        if (!finder?.current)
          reasons.unshift(`check containerRuntime failed, err: ${finder?.reason ?? "starting"}`);
        return reasons.length === 0 ? plain(200, "ok") : plain(503, `${reasons.join("\n")}\n`);
      },
    },
    watch(found) {
      finder = found;
    },
    watchFeatures() {
      started = true;
      for (const feature of features) {
        feature.synced.then(
          () => synced.add(feature.name),
          () => undefined,
        );
      }
    },
  };
}

/** One Warning on the Node for each outage, one Normal when the runtime is back. */
function reportRuntime(
  finder: RuntimeFinder,
  node: string,
  events: Events,
  gauge: (name: string, version: string, ready: boolean) => void,
): void {
  const recorder = events.from("kruise-daemon");
  // Events about nodes carry the node's name as uid, as the kubelet's own do.
  const target = { apiVersion: "v1", kind: "Node", name: node, uid: node };
  let down = false;
  let last: Runtime | undefined;
  finder.subscribe((runtime, reason) => {
    if (runtime) {
      last = runtime;
      gauge(runtime.name, runtime.version, true);
      if (down)
        recorder.event(
          target,
          "Normal",
          "ContainerRuntimeFound",
          `${runtime.name} ${runtime.version} at ${runtime.socket}`,
        );
      down = false;
      return;
    }
    gauge(last?.name ?? "", last?.version ?? "", false);
    if (!down) recorder.event(target, "Warning", "ContainerRuntimeNotFound", reason);
    down = true;
  });
}
