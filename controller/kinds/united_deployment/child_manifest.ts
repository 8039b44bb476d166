/** A subset's workload as it should be. Spec: uniteddeployment 4.5. */
import { subsetTemplatesOf, type UnitedDeployment } from "../../../crds/index.ts";
import {
  applyStrategicPatch,
  dnsSubdomainErrors,
  goJson,
  isJsonObject,
  type JsonObject,
  jsonEqual,
  own,
} from "../../../kube/core/index.ts";
import { objectAt, objectsAt, textsAt } from "../../native/json_fields.ts";
import { PATCH_ANNOTATION, REVISION_LABEL, SUBSET_LABEL } from "./names.ts";
import type { WorkloadKind } from "./workload.ts";

export type Subset = NonNullable<NonNullable<UnitedDeployment["spec"]["topology"]>["subsets"]>[number];

/** How large a subset's workload is to be, and at what revision. */
export interface SubsetTarget {
  readonly subset: Subset;
  /** Full name. */
  readonly revision: string;
  readonly replicas: number;
  /** Pods that stay at the old revision; never more than there are. */
  readonly partition: number;
  /** Pods that may be unavailable whatever the template says: those that are pending must not block the others. Rule 46. */
  readonly maxUnavailable?: number;
}

export interface ChildManifest {
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
  readonly spec: JsonObject;
}

/** Throws PatchError for a patch that cannot be applied to a pod template. */
export function childManifest(
  { spec: { selector, ...spec } }: UnitedDeployment,
  kind: WorkloadKind,
  target: SubsetTarget,
): ChildManifest {
  const found = subsetTemplatesOf(spec).find(({ name }) => name === kind.template);
  const template = found?.template ?? {};
  const { subset, revision, replicas, partition, maxUnavailable } = target;
  const names = { [REVISION_LABEL]: revision, [SUBSET_LABEL]: subset.name };
  const matchLabels = selector.matchLabels ?? {};
  const workload = objectAt(template, "spec");
  const base = {
    ...workload,
    selector: { ...selector, matchLabels: { ...matchLabels, [SUBSET_LABEL]: subset.name } },
    replicas,
    template: podTemplate(objectAt(workload, "template"), subset, names),
  };
  const portioned = kind.setPartition?.(base, partition) ?? base;
  const whole =
    maxUnavailable === undefined
      ? portioned
      : (kind.maxUnavailable?.set(portioned, maxUnavailable) ?? portioned);
  const metadata = objectAt(template, "metadata");
  return {
    labels: { ...textsAt(metadata, "labels"), ...matchLabels, ...names },
    annotations: { ...textsAt(metadata, "annotations"), [PATCH_ANNOTATION]: patchText(subset) },
    spec: whole,
  };
}

/** The patch as it is written into the annotation; empty for none. */
export function patchText({ patch }: Subset): string {
  return isJsonObject(patch) ? goJson(patch) : "";
}

/** Whether two annotations mean the same, however their members are ordered. */
export function samePatch(left: string, right: string): boolean {
  if (left === right) return true;
  if (left === "" || right === "") return false;
  try {
    return jsonEqual(JSON.parse(left), JSON.parse(right));
  } catch {
    return false;
  }
}

/** Labels, affinity and tolerations first; the patch wins over all of them. Rules 23 to 25. */
function podTemplate(template: JsonObject, subset: Subset, names: Record<string, string>): JsonObject {
  const metadata = objectAt(template, "metadata");
  const placed = {
    ...template,
    metadata: { ...metadata, labels: { ...objectAt(metadata, "labels"), ...names } },
    spec: placedSpec(objectAt(template, "spec"), subset),
  };
  return isJsonObject(subset.patch) ? applyStrategicPatch(placed, subset.patch, "PodTemplateSpec") : placed;
}

function placedSpec(spec: JsonObject, { nodeSelectorTerm, tolerations }: Subset): JsonObject {
  const expressions = nodeSelectorTerm?.matchExpressions ?? [];
  const added = tolerations ?? [];
  return {
    ...spec,
    ...(expressions.length === 0
      ? {}
      : { affinity: withExpressions(objectAt(spec, "affinity"), expressions) }),
    ...(added.length === 0 ? {} : { tolerations: [...objectsAt(spec, "tolerations"), ...added] }),
  };
}

/** Every term asks for them, too; where there is no term, one that asks for nothing else. */
function withExpressions(affinity: JsonObject, expressions: readonly object[]): JsonObject {
  const required = "requiredDuringSchedulingIgnoredDuringExecution";
  const nodeAffinity = objectAt(affinity, "nodeAffinity");
  const demand = objectAt(nodeAffinity, required);
  const terms = objectsAt(demand, "nodeSelectorTerms");
  const nodeSelectorTerms = (terms.length === 0 ? [{}] : terms).map((term) => {
    const present = own(term, "matchExpressions");
    return { ...term, matchExpressions: [...(Array.isArray(present) ? present : []), ...expressions] };
  });
  return { ...affinity, nodeAffinity: { ...nodeAffinity, [required]: { ...demand, nodeSelectorTerms } } };
}

/** What the API server would cut a prefix to. */
const LONGEST_PREFIX = 58;

/** The part of a workload's name before its five random characters. Rule 21. */
export function namePrefix(object: string, subset: string): string {
  const whole = `${object}-${subset}-`;
  const prefix = dnsSubdomainErrors(`${whole}x`).length === 0 ? whole : `${object}-`;
  return prefix.slice(0, LONGEST_PREFIX);
}
