/** Connects the prober with the API server: the NodePodProbe of this node, and events on its pods. */
import type { NodePodProbe, NodePodProbeStatus } from "../../crds/index.ts";
import { Cache, createMergePatch, jsonResource, type Log, startInformer } from "../../kube/index.ts";
import { checkedProbes, probeReason } from "../../node/index.ts";
import type { AgentContext, Feature } from "../context.ts";
import { createStatusWriter } from "../status_writer.ts";
import { Prober, type ProberDependencies } from "./prober.ts";

export const nodePodProbes = jsonResource<NodePodProbe>({
  group: "apps.kruise.io",
  version: "v1alpha1",
  plural: "nodepodprobes",
  kind: "NodePodProbe",
  namespaced: false,
});

const component = "kruise-daemon-podprobe";

export function startProbes(context: AgentContext): Feature {
  const log = context.log.with({ component });
  const prober = new Prober(proberDependencies(context, log));
  const cache = new Cache<NodePodProbe>({ identify: nodePodProbes.codec.identify, tombstones: 16 });
  cache.subscribe(({ type, object: stored }) => {
    const { object, ignored } = checkedProbes(stored);
    if (ignored.length > 0)
      log.warn("parts of the NodePodProbe cannot be read and are left out", { ignored });
    prober.update(type === "removed" ? undefined : object);
  });
  const informer = startInformer({
    ...context,
    log,
    resource: nodePodProbes,
    cache,
    fieldSelector: `metadata.name=${context.settings.nodeName}`,
  });
  return {
    name: "nodePodProbeInformerSynced",
    synced: informer.synced,
    async stop() {
      await Promise.all([informer.stop(), prober.stop()]);
    },
  };
}

function proberDependencies(context: AgentContext, log: Log): ProberDependencies {
  const { clock, execs, finder, pods, random } = context;
  const recorder = context.events.from(component);
  return {
    clock,
    log,
    metrics: context.metrics,
    random,
    runtime: () => finder.current?.client,
    execs,
    podIP: (uid) => pods.byUid(uid)?.podIP || undefined,
    status: createStatusWriter<NodePodProbeStatus>({
      clock,
      log,
      perSecond: 1,
      write: (next, before, signal) => writeStatus(context, next, before, signal),
    }),
    event(pod, state, message) {
      recorder.event({ apiVersion: "v1", kind: "Pod", ...pod }, "Normal", probeReason(state), message);
    },
    probed: context.agentMetrics.probed,
  };
}

/** A merge patch of what differs from the server's status. */
async function writeStatus(
  { client, settings }: AgentContext,
  next: NodePodProbeStatus,
  before: NodePodProbeStatus | undefined,
  signal: AbortSignal,
): Promise<NodePodProbeStatus> {
  const body = { status: createMergePatch(before ?? {}, next) };
  const options = { subresource: "status", signal } as const;
  const ref = { name: settings.nodeName };
  const written = await client.patch(nodePodProbes, ref, { type: "merge", body }, options);
  return written.status ?? {};
}
