/** What a plan of a UnitedDeployment sees of the cluster. */
import type { UnitedDeployment } from "../../../crds/index.ts";
import { compileSelector, keyOf, objectRef } from "../../../kube/core/index.ts";
import type { Pod, Reader } from "../../../kube/index.ts";
import { type OwnerKey, ownerKeyOf } from "../../plan/owners.ts";
import type { ClusterReader } from "../../rollout/cluster_reader.ts";
import { revisionsOf } from "../../rollout/revisions/revisions.ts";
import type { ObjectSelection } from "../../runtime/selected_objects.ts";
import { UnitedIndex } from "./classify.ts";
import { SUBSET_LABEL } from "./names.ts";
import type { UnitedDeploymentObserved } from "./plan.ts";
import type { SubsetWorkload } from "./workload.ts";

export interface UnitedReader extends Pick<ClusterReader, "revisions" | "owned" | "orphans"> {
  /** By kind: the workloads of subsets. */
  readonly workloads: Readonly<Record<string, { of(owner: OwnerKey): readonly SubsetWorkload[] }>>;
}

/** Those that it selects and that say of which subset they are. */
export function unitedPodSelection({ metadata, spec }: UnitedDeployment): ObjectSelection {
  const { namespace = "" } = metadata;
  const isSubset = { key: SUBSET_LABEL, operator: "Exists" as const };
  const matchExpressions = [...(spec.selector.matchExpressions ?? []), isSubset];
  return { namespace, labels: { ...spec.selector, matchExpressions } };
}

export function unitedIndex(
  { metadata }: UnitedDeployment,
  pods: Pick<Reader<Pod>, "get" | "values">,
): UnitedIndex {
  const { namespace = "" } = metadata;
  return new UnitedIndex({
    pods: () => pods.values(),
    pod: (name) => pods.get(keyOf({ namespace, name })),
  });
}

export function observeUnitedDeployment(
  object: UnitedDeployment,
  reader: UnitedReader,
  { pods, failure, now }: Pick<UnitedDeploymentObserved, "pods" | "failure" | "now">,
): UnitedDeploymentObserved {
  const { metadata, spec } = object;
  const owner = ownerKeyOf(metadata);
  return {
    object,
    children: Object.values(reader.workloads).flatMap((workloads) => workloads.of(owner)),
    pods,
    revisions: revisionsOf(metadata, compileSelector(spec.selector), reader),
    taken: (name) => reader.revisions.get(keyOf({ ...objectRef(object), name }))?.data,
    failure,
    now,
  };
}
