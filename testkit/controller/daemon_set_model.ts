/** The model cluster with one DaemonSet and some nodes. */
import { DaemonIndex } from "../../controller/kinds/daemon_set/classify.ts";
import { nodeEligibility } from "../../controller/kinds/daemon_set/eligibility.ts";
import { FailedPods } from "../../controller/kinds/daemon_set/failed_pods.ts";
import type { DaemonSetObserved } from "../../controller/kinds/daemon_set/state.ts";
import { availabilityOf, type DaemonSetOptions } from "../../controller/kinds/daemon_set/strategy.ts";
import { nodeOf } from "../../controller/rollout/pods/node_pods.ts";
import { CREATING } from "../../controller/rollout/writes/pending_pods.ts";
import type { DaemonSet } from "../../crds/index.ts";
import { compileSelector } from "../../kube/core/index.ts";
import type { Node, Pod } from "../../kube/index.ts";
import { ClusterModel } from "./cluster_model.ts";
import { LateWrites } from "./late_writes_model.ts";
import { plainNode } from "./projection_builder.ts";

export { Refused } from "./cluster_model.ts";

export const defaultOptions: DaemonSetOptions = {
  envFromMetadata: true,
  verticalScaling: false,
  resizeSubresource: true,
  resetsManagers: true,
  assignByScheduler: true,
  pruneIneligible: false,
  preDownload: false,
};

export class Model extends ClusterModel<DaemonSet> {
  readonly failed = new FailedPods(() => this.now);
  /** Writes that are under way: plans see their pods as they will be. */
  readonly writes = new LateWrites();
  #version = 1_000_000;

  constructor(set: DaemonSet, nodes: readonly string[] = ["node-1", "node-2", "node-3"]) {
    super("DaemonSet", set);
    for (const name of nodes) this.nodes.set(name, plainNode(name));
  }

  /** What a plan sees that knows nothing from before. */
  observed(pods = this.index()): DaemonSetObserved {
    return {
      set: this.set,
      selector: compileSelector(this.set.spec.selector),
      pods,
      isTaken: (name) => this.pods.has(name) || this.writes.pods.has(`${CREATING}${name}`),
      revisions: this.sortedRevisions(),
      revisionData: (revision) => this.revisions.get(revision)?.data,
      failures: {},
      pullJobs: undefined,
      failedPodWaitMs: (name) => this.failed.waitMs(name),
    };
  }

  index(Kind = DaemonIndex): DaemonIndex {
    const { uid = "", namespace = "" } = this.set.metadata;
    return new Kind({
      uid,
      namespace,
      selector: compileSelector(this.set.spec.selector),
      nodeSelector: availabilityOf(this.set).nodeSelector,
      eligibility: nodeEligibility(this.set.spec.template.spec),
      nodes: () => this.nodes.values(),
      node: (name) => this.nodes.get(name),
      pods: () => this.pods.values(),
      inFlight: () => this.writes.pods,
    });
  }

  /** Puts a pod there as if somebody else had made it. */
  place(pod: Pod): void {
    this.pods.set(pod.name, pod);
  }

  annotate(annotations: Record<string, string>): void {
    this.set = { ...this.set, metadata: { ...this.set.metadata, annotations } };
  }

  changeNode(name: string, change: Partial<Node>): void {
    const before = this.nodes.get(name) ?? plainNode(name);
    this.nodes.set(name, { ...before, ...change, resourceVersion: String(this.#version++) });
  }

  /** As a kubelet, the scheduler and the pod clean-up: failed pods stay failed, pods of vanished nodes go. */
  override kubelet(name: string): boolean {
    const pod = this.pods.get(name);
    if (pod === undefined) return false;
    if (!this.nodes.has(nodeOf(pod)) && nodeOf(pod) !== "") {
      if (pod.nodeName === "" && pod.deletionAt === undefined) return false;
      return this.pods.delete(name);
    }
    if (pod.phase === "Failed" && pod.deletionAt === undefined) return false;
    return super.kubelet(name);
  }

  protected patchWorkload(): void {
    throw new Error("a DaemonSet never changes its own spec");
  }
}

export function daemonSet(spec: Partial<DaemonSet["spec"]> = {}): DaemonSet {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "DaemonSet",
    metadata: { name: "app", namespace: "default", uid: "set-app", generation: 1, resourceVersion: "1" },
    spec: {
      selector: { matchLabels: { app: "app" } },
      template: {
        metadata: { labels: { app: "app" } },
        spec: { containers: [{ name: "main", image: "app:1" }] },
      },
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { rollingUpdateType: "Standard", maxUnavailable: 1, maxSurge: 0 },
      },
      ...spec,
    },
  };
}

/** A running pod that nobody controls, with the labels of the set. */
export function foreignPod(name: string, nodeName: string, more: Partial<Pod> = {}): Pod {
  return {
    namespace: "default",
    name,
    uid: `foreign-${name}`,
    resourceVersion: "1",
    createdAt: 0,
    deletionAt: undefined,
    labels: { app: "app" },
    annotations: {},
    finalizers: [],
    fieldManagers: "updates",
    controller: undefined,
    nodeName,
    readinessGates: [],
    containers: [{ name: "main", image: "app:0", resources: {}, env: [], resizePolicy: {} }],
    phase: "Running",
    conditions: [],
    containerStatuses: [],
    podIP: "",
    ...more,
  };
}
