/** The model cluster with one BroadcastJob: nodes that come and go, pods that end. */
import { TaskIndex } from "../../controller/kinds/broadcast_job/classify.ts";
import type { BroadcastJobPlan } from "../../controller/kinds/broadcast_job/decisions.ts";
import { eligibility } from "../../controller/kinds/broadcast_job/node_eligibility.ts";
import { planBroadcastJob } from "../../controller/kinds/broadcast_job/plan.ts";
import { type BroadcastJobObserved, broadcastJobState } from "../../controller/kinds/broadcast_job/state.ts";
import {
  type BroadcastJobOptions,
  broadcastJobStrategyOf,
} from "../../controller/kinds/broadcast_job/strategy.ts";
import { nodeOf } from "../../controller/rollout/pods/node_pods.ts";
import { KRUISE_READY } from "../../controller/rollout/pods/pod_state.ts";
import type { Action } from "../../controller/rollout/writes/actions.ts";
import { PendingPods } from "../../controller/rollout/writes/pending_pods.ts";
import type { BroadcastJob, BroadcastJobSpec } from "../../crds/index.ts";
import type { Node, Pod } from "../../kube/index.ts";
import { ClusterModel } from "./cluster_model.ts";
import { plainNode } from "./projection_builder.ts";

export const defaultOptions: BroadcastJobOptions = { assignByScheduler: true };

export class Model extends ClusterModel<BroadcastJob> {
  /** The time to live was over. */
  deleted = false;
  readonly #random: () => number;

  constructor(job: BroadcastJob, nodes: readonly string[], random: () => number = counting()) {
    super("BroadcastJob", job);
    this.#random = random;
    for (const name of nodes) this.nodes.set(name, node(name));
  }

  observed(pods = this.index()): BroadcastJobObserved {
    return { job: this.set, status: this.set.status ?? {}, pods, isTaken: (name) => this.pods.has(name) };
  }

  /** One that was just made: it looks at every node. `inFlight`: writes that are not carried out yet. */
  index(inFlight = new PendingPods()): TaskIndex {
    return new TaskIndex({
      uid: this.set.metadata.uid ?? "",
      restartLimit: broadcastJobStrategyOf(this.set).restartLimit,
      fits: eligibility(this.set.spec.template),
      nodes: () => this.nodes.values(),
      node: (name) => this.nodes.get(name),
      pods: () => this.owned(),
      inFlight: () => inFlight,
    });
  }

  plan(): BroadcastJobPlan {
    const { now } = this;
    return planBroadcastJob(
      broadcastJobState({ observed: this.observed(), options: defaultOptions, now, random: this.#random }),
    );
  }

  /** One pass, carried out whole, with its status stored. Returns its plan. */
  pass(): BroadcastJobPlan {
    const plan = this.plan();
    for (const action of plan.actions) this.perform(action);
    for (const event of plan.warnings) this.events.push(event);
    this.set = { ...this.set, status: plan.status };
    return plan;
  }

  override perform(action: Action, stopAfter?: number): void {
    if (action.type === "delete workload") this.deleted = true;
    else super.perform(action, stopAfter);
    if (action.type === "create pod") {
      // As pod admission does.
      this.change(action.after.name, { readinessGates: [KRUISE_READY] });
    }
  }

  /** Passes until nothing more is planned; nodes do their part except for the ends of tasks. */
  settle(): BroadcastJobPlan {
    for (let round = 0; round < 200; round++) {
      const before = JSON.stringify([this.set.status, [...this.pods.values()]]);
      const plan = this.pass();
      for (const pod of this.owned()) this.place(pod.name);
      if (JSON.stringify([this.set.status, [...this.pods.values()]]) === before) return plan;
    }
    throw new Error("the job does not settle");
  }

  /** The scheduler places a pod, or the kubelet lets go of one that is being deleted. */
  place(name: string): void {
    const pod = this.pods.get(name);
    if (pod === undefined) return;
    if (pod.deletionAt !== undefined) this.pods.delete(name);
    else if (pod.nodeName === "" && this.nodes.has(nodeOf(pod)))
      this.change(name, { nodeName: nodeOf(pod), pinnedTo: undefined, phase: "Running" });
  }

  end(name: string, phase: "Succeeded" | "Failed"): void {
    this.change(name, { phase });
  }

  restart(name: string, times: number): void {
    const pod = this.pods.get(name);
    if (pod === undefined) return;
    const before = pod.containerStatuses[0]?.restartCount ?? 0;
    const restartCount = before + times;
    const status = { name: "main", image: "", imageID: "", containerID: "", ready: false, restartCount };
    this.change(name, { containerStatuses: [status] });
  }

  changeNode(name: string, change: Partial<Node>): void {
    const before = this.nodes.get(name) ?? node(name);
    this.nodes.set(name, { ...before, ...change });
  }

  podOn(name: string): Pod {
    const found = this.owned().find((pod) => nodeOf(pod) === name);
    if (found === undefined) throw new Error(`no pod on ${name}`);
    return found;
  }

  reasons(): string[] {
    return this.events.map((event) => event.reason);
  }

  /** `desired active succeeded failed`, as `kubectl get` shows them. */
  row(): string {
    const { desired, active, succeeded, failed } = this.set.status ?? {};
    return [desired, active, succeeded, failed].join(" ");
  }

  protected patchWorkload(): void {
    throw new Error("a BroadcastJob never changes its own spec");
  }
}

export function node(name: string, change: Partial<Node> = {}): Node {
  return plainNode(name, { allocatable: { cpu: "2", memory: "4Gi", pods: "110" }, ...change });
}

export function broadcastJob(spec: Partial<BroadcastJobSpec> = {}, podSpec: object = {}): BroadcastJob {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "BroadcastJob",
    metadata: { name: "task", namespace: "default", uid: "job-1", generation: 1, resourceVersion: "1" },
    spec: {
      template: {
        spec: { restartPolicy: "Never", containers: [{ name: "main", image: "task:1" }], ...podSpec },
      },
      ...spec,
    },
  };
}

/** Chance that never repeats. */
export function counting(): () => number {
  let state = 1;
  return () => {
    state = (state * 16807) % 2147483647;
    return state / 2147483647;
  };
}
