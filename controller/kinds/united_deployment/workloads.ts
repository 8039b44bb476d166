/** The kinds of workload that subsets can be made of, by the member of `spec.template` that says so. */
import type { SubsetTemplateName } from "../../../crds/index.ts";
import { advancedStatefulSet } from "./advanced_stateful_set.ts";
import { cloneSetWorkload } from "./clone_set.ts";
import { deployment } from "./deployment.ts";
import { nativeStatefulSet } from "./native_stateful_set.ts";
import type { WorkloadKind } from "./workload.ts";

export const workloadKinds = {
  statefulSetTemplate: nativeStatefulSet,
  advancedStatefulSetTemplate: advancedStatefulSet,
  cloneSetTemplate: cloneSetWorkload,
  deploymentTemplate: deployment,
} as const satisfies Readonly<Record<SubsetTemplateName, WorkloadKind>>;
