/** Connects the prober with the API server: the NodePodProbe of this node, and events on its pods. */
import type { NodePodProbe, NodePodProbeStatus } from "../../crds/index.ts";
import { Cache, createMergePatch, jsonResource, startInformer } from "../../kube/index.ts";
import type { AgentContext, Feature } from "../context.ts";
import { createStatusWriter } from "../status_writer.ts";
import { Prober } from "./prober.ts";
import { checkedProbes } from "./spec.ts";

export const nodePodProbes = jsonResource<NodePodProbe>({
  group: "apps.kruise.io",
  version: "v1alpha1",
  plural: "nodepodprobes",
  kind: "NodePodProbe",
  namespaced: false,
});

const component = "kruise-daemon-podprobe";

export function startProbes(context: AgentContext): Feature {
  const { client, clock, finder, pods, settings } = context;
  const log = context.log.with({ component });
  const name = settings.nodeName;
  const recorder = context.events.from(component);
  const prober = new Prober({
    clock,
    log,
    random: context.random,
    runtime: () => finder.current?.client,
    podIP: (uid) => pods.byUid(uid)?.podIP || undefined,
    status: createStatusWriter<NodePodProbeStatus>({
      clock,
      log,
      perSecond: 1,
      write: async (next, before, signal) => {
        const body = { status: createMergePatch(before ?? {}, next) };
        const written = await client.patch(
          nodePodProbes,
          { name },
          { type: "merge", body },
          { subresource: "status", signal },
        );
        return written.status ?? {};
      },
    }),
    event(pod, state, message) {
      const reason = state === "Succeeded" ? "KruiseProbeSucceeded" : "KruiseProbeFailed";
      recorder.event({ apiVersion: "v1", kind: "Pod", ...pod }, "Normal", reason, message);
    },
    probed: context.agentMetrics.probed,
  });
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
    fieldSelector: `metadata.name=${name}`,
  });
  return {
    name: "nodePodProbeInformerSynced",
    synced: informer.synced,
    async stop() {
      await Promise.all([informer.stop(), prober.stop()]);
    },
  };
}
