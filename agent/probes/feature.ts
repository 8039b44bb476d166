/** Connects the prober with the API server: the NodePodProbe of this node, and events on its pods. */
import type { NodePodProbe, NodePodProbeStatus } from "../../crds/index.ts";
import { Cache, createMergePatch, jsonResource, startInformer } from "../../kube/index.ts";
import { checkedProbes } from "../../node/index.ts";
import type { AgentContext, Feature } from "../context.ts";
import { StatusWriter } from "../status_writer.ts";
import { Prober } from "./prober.ts";

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
  const prober = new Prober({
    ...context,
    log,
    recorder: context.events.from(component),
    status: new StatusWriter<NodePodProbeStatus>({
      clock: context.clock,
      log,
      perSecond: 1,
      write: (next, before, signal) => writeStatus(context, next, before, signal),
    }),
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
