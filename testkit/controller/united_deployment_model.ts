/** A UnitedDeployment with its workloads and pods, whose controllers are as fast as a test wants. For tests. */

import { UnitedIndex } from "../../controller/kinds/united_deployment/classify.ts";
import {
  PATCH_ANNOTATION,
  RESERVED_LABEL,
  REVISION_LABEL,
  SUBSET_LABEL,
} from "../../controller/kinds/united_deployment/names.ts";
import {
  planUnitedDeployment,
  type SubsetChange,
  type UnitedPlan,
} from "../../controller/kinds/united_deployment/plan.ts";
import {
  type SubsetWorkload,
  type WorkloadKind,
  workloadOf,
} from "../../controller/kinds/united_deployment/workload.ts";
import { workloadKinds } from "../../controller/kinds/united_deployment/workloads.ts";
import type { UnitedDeployment } from "../../crds/index.ts";
import { type JsonObject, own } from "../../kube/core/index.ts";
import type { ControllerRevision, Pod } from "../../kube/index.ts";
import { barePod } from "./pod_builder.ts";

const ready = [{ type: "Ready", status: "True", reason: "", message: "", lastTransitionAt: 0 }];
const refused = {
  type: "PodScheduled",
  status: "False",
  reason: "Unschedulable",
  message: "",
  lastTransitionAt: 0,
};

export class UnitedModel {
  object: UnitedDeployment;
  children: SubsetWorkload[] = [];
  pods: Pod[] = [];
  revisions: ControllerRevision[] = [];
  /** Milliseconds since the epoch. */
  now = Date.parse("2026-01-01T00:00:00Z");
  /** Subsets in which nothing is scheduled. */
  readonly full = new Set<string>();
  /** Kept up from change to change, as the reconciler does it. */
  readonly #index = this.#newIndex();
  #indexed: readonly Pod[] = [];
  #count = 0;

  constructor(object: UnitedDeployment) {
    this.object = object;
  }

  change(spec: Partial<UnitedDeployment["spec"]>): void {
    const { metadata } = this.object;
    const generation = (metadata.generation ?? 0) + 1;
    this.object = {
      ...this.object,
      metadata: { ...metadata, generation },
      spec: { ...this.object.spec, ...spec },
    };
  }

  plan(): UnitedPlan {
    const before = new Map(this.#indexed.map((pod) => [pod.name, pod]));
    for (const pod of this.pods) {
      const was = before.get(pod.name);
      before.delete(pod.name);
      if (was !== pod) this.#index.podChanged(was, pod);
    }
    for (const gone of before.values()) this.#index.podChanged(gone, undefined);
    this.#indexed = this.pods;
    return this.#planWith(this.#index);
  }

  /** The plan of a controller that has just started. */
  planAfterRestart(): UnitedPlan {
    return this.#planWith(this.#newIndex());
  }

  #newIndex(): UnitedIndex {
    return new UnitedIndex({
      pods: () => this.pods,
      pod: (name) => this.pods.find((pod) => pod.name === name),
    });
  }

  #planWith(pods: UnitedIndex): UnitedPlan {
    const { object, children, now } = this;
    const revisions = this.revisions.toSorted((a, b) => a.revision - b.revision);
    return planUnitedDeployment({
      object,
      children,
      pods,
      revisions,
      taken: () => undefined,
      failure: "",
      now,
    });
  }

  /** A plan, and what it says. */
  pass(): UnitedPlan {
    const plan = this.plan();
    const { kind, revision, status } = plan;
    if (status !== undefined) this.object = { ...this.object, status };
    if (kind === undefined || revision === undefined) return plan;
    this.#writeRevision(plan);
    this.children = this.children.filter((child) => !plan.deletions.includes(child));
    for (const creation of plan.creations) this.children.push(this.#made(kind, creation));
    for (const update of plan.updates) this.#replace(update.child, this.#made(kind, update, update.child));
    const gone = new Set(plan.brokenPods);
    const labels = new Map(plan.labels.map(({ pod, reserved }) => [pod, String(reserved)]));
    this.pods = this.pods.flatMap((pod) => {
      const reserved = labels.get(pod);
      if (gone.has(pod)) return [];
      if (reserved === undefined) return [pod];
      return [{ ...pod, labels: { ...pod.labels, [RESERVED_LABEL]: reserved } }];
    });
    return plan;
  }

  /**
   * The controllers of the workloads do all that they are asked: pods are made, removed, updated, scheduled. `isAwake`: the
   * others are late.
   */
  work(isAwake: (child: SubsetWorkload) => boolean = () => true): void {
    const uids = new Set(this.children.map(({ uid }) => uid));
    this.pods = this.pods.filter(({ controller }) => uids.has(controller?.uid ?? ""));
    this.children = this.children.map((child) => (isAwake(child) ? this.#worked(child) : child));
  }

  /** Passes and work until neither changes anything. */
  settle(): UnitedPlan {
    for (let round = 0; round < 20; round++) {
      const before = JSON.stringify([this.object.status, this.children, this.pods]);
      this.pass();
      this.work();
      if (JSON.stringify([this.object.status, this.children, this.pods]) === before) return this.plan();
    }
    throw new Error("not settled after 20 rounds");
  }

  /** `spec.replicas` of the workloads by subset. */
  sizes(): Record<string, number> {
    return Object.fromEntries(
      this.children.map(({ labels, replicas }) => [labels[SUBSET_LABEL] ?? "", replicas]),
    );
  }

  podsOf(subset: string): Pod[] {
    return this.pods.filter(({ labels }) => labels[SUBSET_LABEL] === subset);
  }

  #writeRevision({ revision, surplus }: UnitedPlan): void {
    if (revision === undefined) return;
    const { update, write } = revision;
    this.revisions = this.revisions.filter((each) => !surplus.includes(each));
    const stored = {
      namespace: "ns",
      name: update.name,
      uid: `uid-${update.name}`,
      resourceVersion: "1",
      createdAt: this.now,
      generation: 1,
      deletionAt: undefined,
      labels: {},
      annotations: {},
      owners: [],
      finalizers: [],
      revision: update.number,
      data: update.data,
    };
    if (write === "create") this.revisions.push(stored);
    if (write === "renumber")
      this.revisions = this.revisions.map((each) => (each.name === update.name ? stored : each));
  }

  #made(kind: WorkloadKind, { target, manifest }: SubsetChange, before?: SubsetWorkload): SubsetWorkload {
    const { labels, annotations, spec } = manifest;
    const name = before?.name ?? `web-${target.subset.name}-${this.#count++}`;
    const metadata: JsonObject = {
      namespace: "ns",
      name,
      uid: `uid-${name}`,
      creationTimestamp: new Date(this.now).toISOString(),
      labels,
      annotations: { [PATCH_ANNOTATION]: own(annotations, PATCH_ANNOTATION) },
    };
    const status = { replicas: before?.currentReplicas ?? 0, readyReplicas: before?.readyReplicas ?? 0 };
    return workloadOf(kind, { metadata, spec, status });
  }

  #replace(child: SubsetWorkload, next: SubsetWorkload): void {
    this.children = this.children.map((each) => (each === child ? next : each));
  }

  #worked(child: SubsetWorkload): SubsetWorkload {
    const subset = child.labels[SUBSET_LABEL] ?? "";
    const revision = child.labels[REVISION_LABEL] ?? "";
    const others = this.pods.filter(({ controller }) => controller?.uid !== child.uid);
    const before = new Map(this.pods.filter((pod) => !others.includes(pod)).map((pod) => [pod.name, pod]));
    const { maxUnavailable } = workloadKinds[child.template];
    const isRunning = (pod: Pod | undefined) => pod?.phase === "Running";
    const missing = child.replicas - [...before.values()].filter(isRunning).length;
    // At least one a round: what rounds down to none has a surge.
    let room = Math.max(1, maxUnavailable?.of(child.spec, child.replicas) ?? Infinity) - Math.max(0, missing);
    const { start = 0 }: { start?: number } = Object(child.spec["ordinals"]);
    const pods = Array.from({ length: child.replicas }, (_, ordinal) => {
      const name = `${child.name}-${start + ordinal}`;
      const present = before.get(name);
      const isOld = present?.labels[REVISION_LABEL] !== revision;
      const isKept = !isOld || ordinal < (child.partition ?? 0) || (isRunning(present) && room-- <= 0);
      const pod =
        present !== undefined && isKept
          ? present
          : this.#newPod(child, name, { [SUBSET_LABEL]: subset, [REVISION_LABEL]: revision });
      return this.full.has(subset) || pod.phase === "Running" ? pod : this.#running(pod);
    });
    this.pods = [...others, ...pods];
    const readyReplicas = pods.filter(({ phase }) => phase === "Running").length;
    return { ...child, currentReplicas: pods.length, readyReplicas };
  }

  #newPod({ uid, name: owner, template }: SubsetWorkload, name: string, labels: Record<string, string>): Pod {
    const isDeployments = template === "deploymentTemplate";
    const controller = isDeployments
      ? { group: "apps", kind: "ReplicaSet", name: `${owner}-hash`, uid }
      : { group: "apps", kind: "StatefulSet", name: owner, uid };
    return barePod(name, {
      namespace: "ns",
      uid: `uid-${name}-${this.#count++}`,
      createdAt: this.now,
      labels: isDeployments ? { ...labels, "pod-template-hash": "hash" } : labels,
      controller,
      conditions: [refused],
    });
  }

  #running(pod: Pod): Pod {
    const conditions = ready.map((condition) => ({ ...condition, lastTransitionAt: this.now }));
    return { ...pod, phase: "Running", nodeName: "node", conditions };
  }
}
