/** The workloads that scenarios make and change. */
import { type Client, isKubeError, jsonResource, type KubeObject, type Resource } from "../kube/index.ts";
import { WORKLOAD_LABEL } from "./measure/pod_board.ts";
import { BENCH_LABEL } from "./resources.ts";

export type WorkloadKind = "CloneSet" | "StatefulSet" | "DaemonSet" | "BroadcastJob" | "AdvancedCronJob";

const group = "apps.kruise.io";
const place = (version: string, plural: string, kind: string): Resource<KubeObject> =>
  jsonResource<KubeObject>({ group, version, plural, kind, namespaced: true });

export const workloadResources: Readonly<Record<WorkloadKind, Resource<KubeObject>>> = {
  CloneSet: place("v1alpha1", "clonesets", "CloneSet"),
  StatefulSet: place("v1beta1", "statefulsets", "StatefulSet"),
  DaemonSet: place("v1alpha1", "daemonsets", "DaemonSet"),
  BroadcastJob: place("v1alpha1", "broadcastjobs", "BroadcastJob"),
  AdvancedCronJob: place("v1beta1", "advancedcronjobs", "AdvancedCronJob"),
};

export const firstImage = "registry.example/app:1";
export const secondImage = "registry.example/app:2";

export interface WorkloadOptions {
  readonly kind: WorkloadKind;
  readonly name: string;
  readonly replicas: number;
  readonly maxUnavailable: number;
  /** Default `firstImage`. */
  readonly image?: string;
  /** Default in place. */
  readonly recreate?: boolean;
  /** Of an AdvancedCronJob, and the one node on which its runs have a pod. */
  readonly schedule?: string;
  readonly node?: string;
  /** Pods leave a node that is lost at once, not after the usual five minutes. */
  readonly leavesLostNodes?: boolean;
}

export class Workloads {
  readonly #client: Client;
  readonly #namespace: string;
  readonly #run: string;
  readonly #annotations: Readonly<Record<string, string>>;

  constructor(client: Client, namespace: string, run: string, annotations: Readonly<Record<string, string>>) {
    this.#client = client;
    this.#namespace = namespace;
    this.#run = run;
    this.#annotations = annotations;
  }

  create(options: WorkloadOptions): Promise<KubeObject> {
    const { kind, name } = options;
    const resource = workloadResources[kind];
    const labels = this.labels(name);
    return this.#client.create(resource, this.#namespace, {
      apiVersion: `${resource.group}/${resource.version}`,
      kind,
      metadata: { name, labels, annotations: this.#annotations },
      spec: specOf(options, labels, this.#run),
    });
  }

  /** Of a workload and its pods. */
  labels(name: string): Record<string, string> {
    return { [BENCH_LABEL]: this.#run, [WORKLOAD_LABEL]: name };
  }

  scale(kind: WorkloadKind, name: string, replicas: number): Promise<unknown> {
    return this.#patch(kind, name, { spec: { replicas } });
  }

  /** Swaps the image; `partition` pods keep the former one. */
  update(kind: WorkloadKind, name: string, image: string, partition?: number): Promise<unknown> {
    const template = { spec: { containers: [container(image)] } };
    const strategy = partition === undefined ? {} : { updateStrategy: { partition } };
    return this.#patch(kind, name, { spec: { template, ...strategy } });
  }

  async delete(kind: WorkloadKind, name: string): Promise<void> {
    try {
      await this.#client.delete(
        workloadResources[kind],
        { namespace: this.#namespace, name },
        { propagationPolicy: "Background" },
      );
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
    }
  }

  #patch(kind: WorkloadKind, name: string, body: object): Promise<unknown> {
    const ref = { namespace: this.#namespace, name };
    return this.#client.patch(workloadResources[kind], ref, { type: "merge", body });
  }
}

function container(image: string): object {
  return { name: "main", image, imagePullPolicy: "IfNotPresent" };
}

/** Taints of a node that has not been heard of for a while. */
const lostNode = ["not-ready", "unreachable"].map((reason) => ({
  key: `node.kubernetes.io/${reason}`,
  operator: "Exists",
}));

/** Only on hollow nodes of this run: nothing of a bench may land where something would really run. */
export function podSpec(run: string, image: string, leavesLostNodes = false) {
  const lost = lostNode.map((taint) => ({ ...taint, effect: "NoExecute", tolerationSeconds: 0 }));
  return {
    nodeSelector: { [BENCH_LABEL]: run },
    tolerations: [
      { key: BENCH_LABEL, operator: "Equal", value: run, effect: "NoSchedule" },
      ...(leavesLostNodes ? lost : []),
    ],
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    containers: [container(image)],
  };
}

const task = {
  restartPolicy: "Never",
  containers: [{ ...container(firstImage), command: ["sh", "-c", "sleep 0"] }],
};

function specOf(options: WorkloadOptions, labels: Record<string, string>, run: string): object {
  const { kind, replicas, maxUnavailable, recreate = false, leavesLostNodes, image = firstImage } = options;
  const spec = podSpec(run, image, leavesLostNodes);
  const template = { metadata: { labels }, spec };
  const selector = { matchLabels: labels };
  const updatePolicy = recreate ? "ReCreate" : "InPlaceIfPossible";
  switch (kind) {
    case "CloneSet":
      return { replicas, selector, template, updateStrategy: { type: updatePolicy, maxUnavailable } };
    case "StatefulSet": {
      const gates = recreate ? {} : { readinessGates: [{ conditionType: "InPlaceUpdateReady" }] };
      const rollingUpdate = { maxUnavailable, podUpdatePolicy: updatePolicy };
      return {
        replicas,
        selector,
        serviceName: "none",
        podManagementPolicy: "Parallel",
        template: { ...template, spec: { ...spec, ...gates } },
        updateStrategy: { type: "RollingUpdate", rollingUpdate },
      };
    }
    case "DaemonSet": {
      const rollingUpdateType = recreate ? "Standard" : "InPlaceIfPossible";
      const updateStrategy = { type: "RollingUpdate", rollingUpdate: { rollingUpdateType, maxUnavailable } };
      // All nodes at once: the usual limit of 250 is not what is measured.
      return { selector, template, burstReplicas: 10_000, updateStrategy };
    }
    case "BroadcastJob":
      return { parallelism: 10_000, ...jobOf(labels, spec) };
    case "AdvancedCronJob": {
      const job = jobOf(labels, { ...spec, ...onNode(options.node) });
      return { schedule: options.schedule, template: { broadcastJobTemplate: { spec: job } } };
    }
  }
}

/**
 * Pods that end at once. A job makes the pod of a node once more when a taint of that node went (spec jobs, rule 13), and the
 * heartbeats of hollow nodes are late where the bench is: that is not the controller's doing.
 */
function jobOf(labels: Record<string, string>, spec: ReturnType<typeof podSpec>): object {
  const tolerations = [...spec.tolerations, ...lostNode];
  return {
    completionPolicy: { type: "Always" },
    template: { metadata: { labels }, spec: { ...spec, ...task, tolerations } },
  };
}

function onNode(node: string | undefined): object {
  const fields = [{ key: "metadata.name", operator: "In", values: [node] }];
  const required = { nodeSelectorTerms: [{ matchFields: fields }] };
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } } };
}
