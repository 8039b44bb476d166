/** Which pods an object has, by its kind. */
import { relatedBudget, spreadMatchOf } from "../../../controller/index.ts";
import { broadcastJobUidLabel, kinds, matchedWorkloadSpreadAnnotation } from "../../../crds/index.ts";
import type { LabelSelector } from "../../../kube/core/index.ts";
import { type AnyObject, selectorAt, textAt, textsAt } from "../../fields.ts";
import { isOfKind, type ResourceType } from "../../resource_types.ts";
import { carriesSidecars } from "../../rollout/revised_sidecars.ts";

/** How pods of one kind of object are found. */
export interface PodSource {
  readonly group: string;
  readonly kind: string;
  /** Kinds of the objects between it and its pods, those nearer to it first. */
  readonly between?: readonly (readonly [group: string, kind: string])[];
  /** Labels of its pods and of what is between; default: `spec.selector`. `none`: what its pods do is not what it waits for. */
  readonly selector?: ((object: AnyObject) => LabelSelector) | "none";
  /** Of its only pod. */
  podName?(object: AnyObject): string;
  /** For pods that others own: whether they belong to it. */
  carries?(pod: AnyObject, object: AnyObject): boolean;
  /** Its status says which generation it is about. */
  readonly observes: boolean;
}

const apps = { group: "apps", observes: true } as const;
const kruise = { group: "apps.kruise.io", observes: true } as const;
const replicaSets = ["apps", "ReplicaSet"] as const;
const anything = (): LabelSelector => ({});

const isAny = (): boolean => true;

const podSources: readonly PodSource[] = [
  { ...kruise, kind: "CloneSet" },
  { ...kruise, kind: "StatefulSet" },
  { ...kruise, kind: "DaemonSet" },
  {
    ...kruise,
    kind: "BroadcastJob",
    observes: false,
    selector: ({ metadata }) => ({ matchLabels: { [broadcastJobUidLabel]: metadata.uid ?? "" } }),
  },
  {
    ...kruise,
    kind: "AdvancedCronJob",
    observes: false,
    between: [
      ["batch", "Job"],
      ["apps.kruise.io", "BroadcastJob"],
    ],
    selector: anything,
  },
  {
    ...kruise,
    kind: "UnitedDeployment",
    between: [
      ["apps.kruise.io", "CloneSet"],
      ["apps.kruise.io", "StatefulSet"],
      ["apps", "StatefulSet"],
      ["apps", "Deployment"],
      replicaSets,
    ],
  },
  {
    ...kruise,
    kind: "SidecarSet",
    carries: (pod, { metadata }) => carriesSidecars(pod, metadata.name ?? ""),
  },
  {
    ...kruise,
    kind: "WorkloadSpread",
    selector: anything,
    carries: (pod, { metadata }) =>
      spreadMatchOf(textAt(pod, "metadata", "annotations", matchedWorkloadSpreadAnnotation))?.name ===
      metadata.name,
  },
  {
    ...kruise,
    kind: "ContainerRecreateRequest",
    observes: false,
    selector: anything,
    podName: (request) => textAt(request, "spec", "podName") ?? "",
    carries: isAny,
  },
  {
    group: "policy.kruise.io",
    observes: true,
    kind: "PodUnavailableBudget",
    selector: anything,
    carries: (pod, { metadata }) => isProtectedBy(pod, metadata.name ?? ""),
  },
  { ...kruise, selector: "none", kind: "PodProbeMarker" },
  { ...kruise, selector: "none", kind: "PersistentPodState" },
  { ...kruise, selector: "none", kind: "ResourceDistribution" },
  { ...apps, kind: "Deployment", between: [replicaSets] },
  { ...apps, kind: "ReplicaSet" },
  { ...apps, kind: "StatefulSet" },
  { ...apps, kind: "DaemonSet" },
  { group: "batch", kind: "Job", observes: false },
  { group: "", kind: "Pod", observes: false, carries: isAny },
];

/** As its controller and admission tie pods to budgets. */
function isProtectedBy(pod: AnyObject, budget: string): boolean {
  return relatedBudget(textsAt(pod, "metadata", "annotations")) === budget;
}

/** Undefined for a kind that nothing is known of; one of this API without a line above has no pods that it waits for. */
export function podSourceOf(type: Pick<ResourceType, "group" | "kind">): PodSource | undefined {
  const { group, kind } = type;
  const known = podSources.find(isOfKind(type));
  if (known !== undefined || !kinds.some(isOfKind(type))) return known;
  return { group, kind, selector: "none", observes: false };
}

/** Labels that the pods of an object have; empty where labels do not tell them. */
export function podSelectorOf(type: Pick<ResourceType, "group" | "kind">, object: AnyObject): LabelSelector {
  const source = podSourceOf(type);
  if (source === undefined || source.selector === "none" || source.carries !== undefined) return {};
  return source.selector?.(object) ?? selectorAt(object, "spec", "selector");
}
