/** To which subset a pod belongs that was there before its WorkloadSpread. Spec: workloadspread 4.3 rule 18. */
import type { WorkloadSpread, WorkloadSpreadSubset } from "../../../crds/index.ts";
import {
  isJsonObject,
  type JsonObject,
  jsonEqual,
  type LabeledNode,
  matchesNode,
  matchesTerm,
  type NodeSelectorTerm,
  own,
  PatchError,
  repellingEffects,
  type Taint,
  type Toleration,
  untoleratedTaint,
} from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { objectAt, objectsAt, textAt } from "../../native/json_fields.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";
import { capOf } from "./caps.ts";
import { withPatch } from "./inject.ts";
import { ownMatch } from "./plan.ts";

export interface AdoptionInput {
  readonly object: WorkloadSpread;
  /** Wanted pods of the workload; -1 for unknown. */
  readonly size: number;
  readonly pods: readonly Pod[];
  /** The node that the pod runs on; undefined for none, and for one that is not known. */
  nodeOf(pod: Pod): SpreadNode | undefined;
  /** The pod with all its fields; undefined for one that is gone. */
  wholePod(pod: Pod): Promise<JsonObject | undefined>;
}

/** Subsets of pods that were there before the object, by UID. Rejects with what `wholePod` does. */
export async function adoptedPods(input: AdoptionInput): Promise<ReadonlyMap<string, string>> {
  const { object, size, pods, nodeOf, wholePod } = input;
  const adopted = new Map<string, string>();
  const counts = new Map<string, number>();
  const count = (subset: string) => counts.set(subset, (counts.get(subset) ?? 0) + 1);
  const others: Pod[] = [];
  for (const pod of pods.filter(isActive)) {
    const match = ownMatch(object, pod);
    if (match === undefined) others.push(pod);
    else count(match.subset);
  }
  const hasRoom = (subset: WorkloadSpreadSubset) =>
    (counts.get(subset.name) ?? 0) < (capOf(subset, size) ?? Number.POSITIVE_INFINITY);
  for (const pod of others) {
    const node = nodeOf(pod);
    const whole = node && (await wholePod(pod));
    const subset = whole && subsetOfExisting(whole, node, object.spec.subsets, hasRoom);
    if (subset === undefined) continue;
    adopted.set(pod.uid, subset);
    count(subset);
  }
  return adopted;
}

export type SpreadNode = LabeledNode & { readonly taints: readonly Taint[] };

const everyEffect = [...repellingEffects, "PreferNoSchedule"];

/**
 * The subset that fits best the node that the pod runs on; undefined for none. `hasRoom`: whether a subset is below its cap,
 * which decides between equals only.
 */
export function subsetOfExisting(
  pod: JsonObject,
  node: SpreadNode,
  subsets: readonly WorkloadSpreadSubset[],
  hasRoom: (subset: WorkloadSpreadSubset) => boolean,
): string | undefined {
  let best: { readonly name: string; readonly score: number } | undefined;
  for (const subset of subsets) {
    if (!fits(pod, node, subset)) continue;
    const score = scoreOf(pod, node, subset) + (hasRoom(subset) ? 1 : 0);
    if (best === undefined || score > best.score) best = { name: subset.name, score };
  }
  return best?.name;
}

function fits(pod: JsonObject, node: SpreadNode, subset: WorkloadSpreadSubset): boolean {
  const spec = objectAt(pod, "spec");
  const tolerations = [...objectsAt(spec, "tolerations").map(tolerationOf), ...(subset.tolerations ?? [])];
  if (untoleratedTaint(node.taints, tolerations, everyEffect) !== undefined) return false;
  const { requiredNodeSelector: term } = subset;
  if (term && !matchesTerm(term, node)) return false;
  const nodeAffinity = objectAt(objectAt(spec, "affinity"), "nodeAffinity");
  const required = own(nodeAffinity, "requiredDuringSchedulingIgnoredDuringExecution");
  if (!isJsonObject(required)) return true;
  const nodeSelectorTerms = objectsAt(required, "nodeSelectorTerms").map(termOf);
  const affinity = {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
  };
  return matchesNode({ affinity }, node);
}

function tolerationOf(toleration: JsonObject): Toleration {
  const [key, operator] = [textAt(toleration, "key"), textAt(toleration, "operator")];
  return { key, operator, value: textAt(toleration, "value"), effect: textAt(toleration, "effect") };
}

function termOf(term: JsonObject): NodeSelectorTerm {
  const requirements = (key: string) =>
    objectsAt(term, key).map((each) => {
      const values = own(each, "values");
      const texts = (Array.isArray(values) ? values : []).filter((value) => typeof value === "string");
      return { key: textAt(each, "key"), operator: textAt(each, "operator"), values: texts };
    });
  return { matchExpressions: requirements("matchExpressions"), matchFields: requirements("matchFields") };
}

function scoreOf(pod: JsonObject, node: SpreadNode, subset: WorkloadSpreadSubset): number {
  const preferred = subset.preferredNodeSelector ?? [];
  const weights = preferred
    .filter(({ preference }) => matchesTerm(preference, node))
    .reduce((sum, { weight }) => sum + weight, 0);
  return 100 * weights + (isPatched(pod, subset) ? 10 : 0);
}

/** Whether the patch would change nothing but annotations. */
function isPatched(pod: JsonObject, subset: WorkloadSpreadSubset): boolean {
  try {
    return jsonEqual(withoutAnnotations(withPatch(pod, subset)), withoutAnnotations(pod));
  } catch (error) {
    if (error instanceof PatchError) return false;
    throw error;
  }
}

function withoutAnnotations(pod: JsonObject): JsonObject {
  const { annotations: _, ...metadata } = objectAt(pod, "metadata");
  return { ...pod, metadata };
}
