/** The simulated parts of a cluster around its API server: nodes, scheduler, volume binder, built-in workloads. */
import type { Clock, Random } from "../kube/core/index.ts";
import type { Cluster } from "./cluster.ts";
import { Autoscalers } from "./duties/autoscalers.ts";
import { Disruption } from "./duties/disruption.ts";
import { ServiceEndpoints } from "./duties/endpoints.ts";
import { startNamespaceDefaults } from "./duties/namespace_defaults.ts";
import { NodeLifecycle } from "./duties/node_lifecycle.ts";
import { createEventWriter } from "./events.ts";
import { type KubernetesVersion, versionText } from "./kubernetes_version.ts";
import type { NodeProfile } from "./nodes/node_object.ts";
import { SandboxNodes } from "./nodes/sandbox_nodes.ts";
import { Scheduler } from "./scheduler/scheduler.ts";
import { type ProfileName, profiles, type Timing } from "./stages/profile.ts";
import { VolumeBinder } from "./volumes/volume_binder.ts";
import { startDaemonSets } from "./workloads/daemon_set.ts";
import { startDeployments } from "./workloads/deployment.ts";
import { startJobs } from "./workloads/job.ts";
import { PodIndex } from "./workloads/pod_index.ts";
import { startReplicaSets } from "./workloads/replica_set.ts";
import { startStatefulSets } from "./workloads/stateful_set.ts";
import type { WorkloadDeps } from "./workloads/workload.ts";
import { type RequestWriter, storeWriter } from "./workloads/writer.ts";

interface ComponentOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Nodes from the start: `node1` to `node<n>`, or one per profile. Default none. */
  readonly nodes?: number | readonly NodeProfile[];
  /** Delays of nodes; a name or all of them. Default `fast`. */
  readonly profile?: ProfileName | Timing;
  /** Simulates the node agent beside each kubelet. Default off. */
  readonly agent?: boolean;
  readonly agentActs?: boolean;
  /** Of kubelets; default 1.34.4. */
  readonly kubernetesVersion?: KubernetesVersion;
  /** How built-in workloads create and delete pods; default straight into the store, past webhooks. */
  readonly writer?: RequestWriter;
  /** PEM that every namespace gets as `kube-root-ca.crt`. */
  readonly authority?: string;
  /** Makes the default StorageClass `standard`, whose volumes are provisioned at once. Default on. */
  readonly storageClass?: boolean;
  /** Called for failures that are tried again; default: a process warning. */
  readonly onError?: (error: unknown, where: string) => void;
}

interface Components {
  readonly nodes: SandboxNodes;
  stop(): void;
}

export function startComponents(cluster: Cluster, options: ComponentOptions): Components {
  const { clock, random } = options;
  const timing = typeof options.profile === "object" ? options.profile : profiles[options.profile ?? "fast"];
  const report = options.onError ?? warn;
  const onError = (component: string) => (error: unknown, key: string) =>
    report(error, `${component} ${key}`);
  const events = createEventWriter(cluster, clock, random);
  const nodes = new SandboxNodes({
    cluster,
    clock,
    random,
    timing,
    events,
    agent: options.agent ?? false,
    agentActs: options.agentActs ?? true,
    kubeletVersion: versionText(options.kubernetesVersion),
    onError: onError("node"),
  });
  const tellSuccess = timing.events === "all";
  const base = { cluster, clock };
  const parts: { stop(): void }[] = [
    new VolumeBinder({ ...base, onError: onError("volume binder") }),
    new Scheduler({ ...base, events, tellSuccess, onError: onError("scheduler") }),
    new NodeLifecycle({
      ...base,
      events,
      heartbeat: timing.heartbeat,
      silence: nodes,
      onError: onError("node lifecycle"),
    }),
    new ServiceEndpoints({ ...base, onError: onError("endpoints") }),
    new Autoscalers({ ...base, events, onError: onError("autoscaler") }),
    new Disruption({ ...base, onError: onError("disruption") }),
    startNamespaceDefaults({ cluster, authority: options.authority ?? "", onError: onError("namespace") }),
    ...startWorkloads(
      {
        ...base,
        events,
        pods: new PodIndex(cluster),
        writer: options.writer ?? storeWriter(cluster),
        onError: onError("workload"),
      },
      timing,
    ),
    nodes,
  ];
  if (options.storageClass !== false) makeStorageClass(cluster);
  if (options.nodes !== undefined) nodes.add(options.nodes);
  return {
    nodes,
    stop() {
      for (const part of parts) part.stop();
    },
  };
}

function startWorkloads(deps: WorkloadDeps, { backOff }: Timing): { stop(): void }[] {
  return [
    startReplicaSets(deps),
    startDeployments(deps),
    startStatefulSets(deps),
    startDaemonSets(deps),
    startJobs(deps, backOff),
    deps.pods,
  ];
}

function makeStorageClass(cluster: Cluster): void {
  const name = "standard";
  if (cluster.get("storageclasses.storage.k8s.io", { name })) return;
  cluster.create("storageclasses.storage.k8s.io", {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    provisioner: "sandbox.refit.dev/volumes",
    reclaimPolicy: "Delete",
    volumeBindingMode: "Immediate",
    allowVolumeExpansion: true,
  });
}

function warn(error: unknown, where: string): void {
  process.emitWarning(error instanceof Error ? error : String(error), {
    code: "REFIT_SANDBOX",
    detail: where,
  });
}
