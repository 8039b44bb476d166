/** What the process of the controller counts. */
import type { Refusal } from "../../controller/index.ts";
import {
  createCounter,
  createMetrics,
  createRegistry,
  type Metrics,
  type Registry,
} from "../../kube/index.ts";

export interface Observed {
  readonly registry: Registry;
  readonly metrics: Metrics;
}

/** A registry and what counts into it: one for each process. */
export function observe(): Observed {
  const registry = createRegistry();
  return { registry, metrics: createMetrics(registry) };
}

/** By the reference's names. Spec: platform 3. */
export function refusalCounters(registry: Registry): (refusal: Refusal) => void {
  const object = ["kind_namespace_name", "username"];
  const cluster = ["name", "username"];
  const namespaces = createCounter(
    registry,
    "namespace_deletion_protection",
    "Refused deletions of namespaces.",
    cluster,
  );
  const definitions = createCounter(
    registry,
    "crd_deletion_protection",
    "Refused deletions of definitions.",
    cluster,
  );
  const workloads = createCounter(
    registry,
    "workload_deletion_protection",
    "Refused deletions of workloads.",
    object,
  );
  const budgets = createCounter(
    registry,
    "pod_unavailable_budget",
    "Operations on pods that a PodUnavailableBudget refused.",
    object,
  );
  return ({ event, kind, namespace, name, userName: username, counted = { kind, name } }) => {
    const labels = { kind_namespace_name: `${counted.kind}_${namespace}_${counted.name}`, username };
    if (event === "PodUnavailableBudget") budgets.inc(labels);
    else if (kind === "Namespace") namespaces.inc({ name, username });
    else if (kind === "CustomResourceDefinition") definitions.inc({ name, username });
    else workloads.inc(labels);
  };
}
