/** Status of PodDisruptionBudgets: how many of the covered pods may go. */
import {
  compileSelector,
  type IntOrString,
  isJsonObject,
  type LabelSelector,
  refOf,
  scaledValue,
} from "../../kube/core/index.ts";
import type { ClusterChange, StoredObject } from "../cluster.ts";
import { ClusterLoop, type LoopOptions } from "../cluster_loop.ts";
import { numberAt } from "../json.ts";
import { controllerOf, isFinished, isPod, isPodReady, type PodObject } from "../objects/index.ts";
import { keyOfObject } from "../workloads/workload.ts";

type BudgetObject = StoredObject & {
  spec: { minAvailable?: IntOrString; maxUnavailable?: IntOrString; selector?: LabelSelector };
  status?: Record<string, unknown>;
};

const budgets = "poddisruptionbudgets.policy";
const gatherMs = 10;

/** Owners whose number of replicas is known: what percentages refer to. */
const scalable: Readonly<Record<string, string>> = {
  ReplicaSet: "replicasets.apps",
  StatefulSet: "statefulsets.apps",
  CloneSet: "clonesets.apps.kruise.io",
};

export class Disruption extends ClusterLoop {
  readonly #keys = new Set<string>();

  constructor(options: LoopOptions) {
    super(options);
    this.follow(budgets, (change) => this.#budgetChanged(change));
    this.watch("pods", (change) => this.#podChanged(change));
  }

  #budgetChanged({ type, object }: ClusterChange): void {
    const key = keyOfObject(object);
    if (type === "DELETED") this.#keys.delete(key);
    else {
      this.#keys.add(key);
      this.agenda.add(key);
    }
  }

  #podChanged({ object }: ClusterChange): void {
    for (const key of this.#keys) {
      if (refOf(key).namespace === object.metadata.namespace) this.agenda.add(key, gatherMs);
    }
  }

  protected override work(key: string): undefined {
    const { cluster } = this.options;
    const budget = cluster.get(budgets, refOf(key));
    if (!isBudget(budget)) return;
    const selector = compileSelector(budget.spec.selector);
    const pods: PodObject[] = [];
    for (const pod of cluster.list("pods", budget.metadata.namespace)) {
      if (isPod(pod) && selector.matches(pod.metadata.labels) && !isFinished(pod)) pods.push(pod);
    }
    const { minAvailable, maxUnavailable } = budget.spec;
    const expected = typeof minAvailable === "number" ? pods.length : this.#expected(pods);
    const desired =
      maxUnavailable === undefined
        ? scaledValue(minAvailable ?? 1, expected, true)
        : Math.max(0, expected - scaledValue(maxUnavailable, expected, true));
    const healthy = pods.filter((pod) => isPodReady(pod) && !pod.metadata.deletionTimestamp).length;
    const allowed = expected > 0 ? Math.max(0, healthy - desired) : 0;
    cluster.update(budgets, refOf(key), (draft) => {
      if (!isBudget(draft)) return;
      draft.status = {
        ...draft.status,
        currentHealthy: healthy,
        desiredHealthy: desired,
        disruptionsAllowed: allowed,
        expectedPods: expected,
        observedGeneration: budget.metadata.generation ?? 0,
      };
    });
  }

  #expected(pods: readonly PodObject[]): number {
    const owners = new Map<string, number>();
    let loose = 0;
    for (const pod of pods) {
      const owner = controllerOf(pod);
      const resource = owner && scalable[owner.kind];
      if (!owner || !resource) {
        loose += 1;
        continue;
      }
      if (owners.has(owner.uid)) continue;
      const { namespace = "" } = pod.metadata;
      const object = this.options.cluster.get(resource, { namespace, name: owner.name });
      owners.set(owner.uid, numberAt(object, "spec", "replicas") ?? 1);
    }
    return loose + [...owners.values()].reduce((sum, replicas) => sum + replicas, 0);
  }
}

function isBudget(object: StoredObject | undefined): object is BudgetObject {
  return object !== undefined && isJsonObject(object["spec"]);
}
