/** Workloads whose pods a WorkloadSpread may place. Spec: workloadspread 4.1 rule 1, 6. */
import { groupOf, type TargetReference } from "../persistent_pod_state/validate.ts";

/** Groups of the kinds that are known without a whitelist. */
const groupsByKind: ReadonlyMap<string, readonly string[]> = new Map([
  ["CloneSet", ["apps.kruise.io"]],
  ["Deployment", ["apps"]],
  ["ReplicaSet", ["apps"]],
  ["Job", ["batch"]],
  ["StatefulSet", ["apps", "apps.kruise.io"]],
]);

/** The groups that a workload of this kind may be of; undefined for a kind that only a whitelist can name. */
export function spreadGroupsOf(kind: string): readonly string[] | undefined {
  return groupsByKind.get(kind);
}

/** A workload, whatever its version. */
export interface WorkloadIdentity {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

export function spreadTargetOf(spread: {
  readonly spec: { readonly targetRef: TargetReference };
}): WorkloadIdentity {
  const { apiVersion, kind, name } = spread.spec.targetRef;
  return { group: groupOf(apiVersion), kind, name };
}
