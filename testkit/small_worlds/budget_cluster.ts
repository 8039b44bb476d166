/** What the server of a small world of one budget stores, and how its rules read that. Spec: protection A4, rules 6 to 9. */
import { podUnavailableBudgetResource } from "../../controller/plan/resources.ts";
import type { PodUnavailableBudget } from "../../crds/index.ts";
import type { Pod } from "../../kube/index.ts";
import { barePod } from "../controller/pod_builder.ts";

export type Pods = Readonly<Record<string, Pod>>;

/** What the server stores. */
export interface Cluster {
  readonly budget: PodUnavailableBudget;
  readonly pods: Pods;
  readonly replicas: number;
  /** Pods that became unavailable without an entry of the status, and that a status does not leave out yet. */
  readonly unsaid: readonly Pod[];
}

export const UNAVAILABLE = "unavailable-pod.kruise.io/update";
export const MARKED = "apps.kruise.io/specified-delete";

export function podOf(name: string, labels: Pod["labels"] = {}): Pod {
  const annotations = { "pub.kruise.io/related-pub": "budget" };
  return barePod(name, { annotations, labels, phase: "Running", ...readiness(true) });
}

/** Its container is no longer ready, by itself. */
export function failed({ pods, unsaid }: Cluster, name: string): Pick<Cluster, "pods" | "unsaid"> {
  const pod = pods[name];
  if (pod === undefined || !isAvailable(pod)) return { pods, unsaid };
  return {
    pods: withPod(pods, name, { ...pod, ...readiness(false) }),
    unsaid: alsoUnsaid(unsaid, pod),
  };
}

/** A pod that fails once more takes the place of its earlier failure, which a status under way may say. */
export function alsoUnsaid(unsaid: Cluster["unsaid"], pod: Pod): Cluster["unsaid"] {
  return [...unsaid.filter(({ name }) => name !== pod.name), { ...pod }];
}

/** Its workload is going to replace it. */
export function marked({ pods }: Cluster, name: string): Pick<Cluster, "pods"> {
  const pod = pods[name];
  return {
    pods:
      pod === undefined ? pods : withPod(pods, name, { ...pod, labels: { ...pod.labels, [MARKED]: "true" } }),
  };
}

export function readiness(isReady: boolean): Pick<Pod, "conditions"> {
  const status = isReady ? "True" : "False";
  return { conditions: [{ type: "Ready", status, reason: "", message: "", lastTransitionAt: 0 }] };
}

export function withPod(pods: Pods, name: string, pod: Pod | undefined): Pods {
  const { [name]: _, ...others } = pods;
  return pod === undefined ? others : { ...others, [name]: pod };
}

export function isObserved({ metadata, status }: PodUnavailableBudget): boolean {
  return metadata.generation === status?.observedGeneration;
}

/** Pods that were let pass, and when. */
export function entriesOf(status: PodUnavailableBudget["status"]): [string, string][] {
  return Object.entries({ ...status?.disruptedPods, ...status?.unavailablePods });
}

/** Rules 8 and 9; all pods here are consistent. */
export function isAvailable(pod: Pod | undefined): boolean {
  if (pod === undefined || pod.deletionAt !== undefined || UNAVAILABLE in pod.labels) return false;
  return pod.conditions[0]?.status === "True";
}

export function availableIn(pods: Pods): Pod[] {
  return Object.values(pods).filter(isAvailable);
}

/** Rule 6. */
export function floorOf({ spec }: PodUnavailableBudget, replicas: number): number {
  const amountOf = (amount: number | string): number =>
    typeof amount === "number" ? amount : Math.ceil((Number.parseInt(amount, 10) * replicas) / 100);
  const { minAvailable, maxUnavailable } = spec;
  if (minAvailable !== undefined && minAvailable !== null) return amountOf(minAvailable);
  return Math.max(0, replicas - amountOf(maxUnavailable ?? 0));
}

export function floorIn({ budget }: Cluster): number {
  return budget.status?.desiredAvailable ?? 0;
}

export function describe({ deletionAt, labels, conditions }: Pod): string {
  return `${deletionAt !== undefined} ${Object.keys(labels)} ${conditions.map(({ status }) => status)}`;
}

export function generationOf({ metadata, status }: PodUnavailableBudget): string {
  return `${metadata.generation} ${status?.observedGeneration}`;
}

export function decoded(object: object): PodUnavailableBudget {
  return podUnavailableBudgetResource.codec.decode(Buffer.from(JSON.stringify(object)), "application/json");
}
