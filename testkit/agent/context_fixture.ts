/** For tests of features: what they are given, with an API server and a runtime that the test makes up. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import type { CriContainer } from "../../agent/containers/observe.ts";
import { ContainerRestarter } from "../../agent/containers/restarter.ts";
import type { AgentContext } from "../../agent/context.ts";
import { createAgentMetrics } from "../../agent/metrics.ts";
import { PodWatch } from "../../agent/pod_watch.ts";
import { ExecProbes } from "../../agent/probes/exec_probes.ts";
import { ProbeRunner } from "../../agent/probes/runner.ts";
import type { Runtime, RuntimeFinder } from "../../agent/runtime_socket/finder.ts";
import { agentSettings } from "../../agent/settings.ts";
import { createStateStore, filesIn } from "../../agent/state/store.ts";
import { createEvents, createMetrics, createRegistry, nullLog, systemClock } from "../../kube/index.ts";

export async function temporaryFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "refit-feature-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Of the node `node-1`. `folder` holds the agent's memory; pods are watched from here on. */
export function testContext(
  t: Test,
  given: Pick<AgentContext, "client"> & Partial<Pick<AgentContext, "clock" | "log">>,
  folder: string,
  runtime?: Runtime,
): AgentContext {
  const registry = createRegistry();
  const metrics = createMetrics(registry);
  const shared = { clock: systemClock, log: nullLog, random: () => 0.5, metrics, ...given };
  const pods = new PodWatch({ ...shared, nodeName: "node-1", enabled: true });
  t.teardown(() => pods.stop());
  const agentMetrics = createAgentMetrics(registry);
  const events = createEvents(shared);
  const finder = settledFinder(runtime);
  return {
    ...shared,
    settings: agentSettings([], { NODE_NAME: "node-1" }, () => false),
    agentMetrics,
    events,
    finder,
    state: createStateStore(filesIn(folder), shared.log),
    pods,
    probes: new ProbeRunner(finder, new ExecProbes(shared.clock, shared.log)),
    restarter: new ContainerRestarter({
      ...shared,
      events,
      agentMetrics,
      startedBy: "kubelet",
      pods,
      kubeletVersion: async () => "v1.34.4",
    }),
  };
}

function settledFinder(current: Runtime | undefined): RuntimeFinder {
  return {
    current,
    reason: current ? "" : "not found container runtime sock",
    searched: true,
    subscribe: () => () => undefined,
    suspect: () => undefined,
    stop: async () => undefined,
  };
}

/** The container `main` as the runtime shows it while it runs. */
export const runningContainer: CriContainer = {
  name: "main",
  id: "c1",
  sandboxId: "s",
  attempt: 0,
  restartCount: 0,
  state: "running",
  createdAt: 0,
  startedAt: 0,
  exitCode: 0,
  hash: "",
  annotations: {},
};
