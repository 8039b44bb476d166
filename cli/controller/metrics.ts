/** What the process of the controller counts. */
import type { Refusal } from "../../controller/index.ts";
import {
  createCounter,
  createMetrics,
  createRegistry,
  createStageMetrics,
  type Metrics,
  type Registry,
} from "../../kube/index.ts";

export interface Observed {
  readonly registry: Registry;
  readonly metrics: Metrics;
}

/** A registry and what counts into it: one for each process. `stages`: with the histograms of what writes wait for. */
export function observe({ stages = false } = {}): Observed {
  const registry = createRegistry();
  const metrics = createMetrics(registry);
  return { registry, metrics: stages ? { ...metrics, stages: createStageMetrics(registry) } : metrics };
}

/** By the reference's names. Spec: platform 3. */
export function refusalCounters(registry: Registry): (refusal: Refusal) => void {
  const object = ["kind_namespace_name", "username"];
  const cluster = ["name", "username"];
  const counter = (name: string, help: string, labels: string[]) =>
    createCounter(registry, name, help, labels);
  const namespaces = counter("namespace_deletion_protection", "Refused deletions of namespaces.", cluster);
  const definitions = counter("crd_deletion_protection", "Refused deletions of definitions.", cluster);
  const workloads = counter("workload_deletion_protection", "Refused deletions of workloads.", object);
  const refusedByBudgets = "Operations on pods that a PodUnavailableBudget refused.";
  const budgets = counter("pod_unavailable_budget", refusedByBudgets, object);
  return ({ event, kind, namespace, name, userName: username, counted = { kind, name } }) => {
    const labels = { kind_namespace_name: `${counted.kind}_${namespace}_${counted.name}`, username };
    if (event === "PodUnavailableBudget") budgets.inc(labels);
    else if (kind === "Namespace") namespaces.inc({ name, username });
    else if (kind === "CustomResourceDefinition") definitions.inc({ name, username });
    else workloads.inc(labels);
  };
}
