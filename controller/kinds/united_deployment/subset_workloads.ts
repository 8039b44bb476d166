/** The workloads of subsets in the caches: a value for each kind of workload. */
import type { SubsetTemplateName } from "../../../crds/index.ts";
import {
  identifyProjection,
  type KubeObject,
  projectedJsonCodec,
  type Resource,
} from "../../../kube/index.ts";
import type { OwnerKey } from "../../plan/owners.ts";
import { cloneSetResource, statefulSetResource } from "../../plan/resources.ts";
import { Children, type ChildrenDeps } from "../../runtime/children.ts";
import type { Writable } from "../../runtime/executor/writable.ts";
import type { WatchScope } from "../../runtime/informers.ts";
import { SUBSET_LABEL } from "./names.ts";
import { type SubsetWorkload, type WorkloadKind, workloadOf } from "./workload.ts";
import { workloadKinds } from "./workloads.ts";

export interface SubsetWorkloads {
  readonly writable: Writable;
  /** Those that the owner controls. */
  of(owner: OwnerKey): SubsetWorkload[];
  /** Those of the namespace that are labelled as a subset's and that nobody controls. */
  orphans(namespace: string): SubsetWorkload[];
}

/** `orphaned`: a workload without a controller was seen, or changed. */
export function subsetWorkloads(
  deps: ChildrenDeps,
  ownerKind: string,
  orphaned: (workload: SubsetWorkload) => void = () => undefined,
): Readonly<Record<SubsetTemplateName, SubsetWorkloads>> {
  const own = <C extends KubeObject>(kind: WorkloadKind, resource: Resource<C>) =>
    workloadsIn(deps, ownerKind, resource, (object) => workloadOf(kind, object), orphaned);
  const native = (resource: Resource<SubsetWorkload>) =>
    workloadsIn(deps, ownerKind, resource, (workload) => workload, orphaned, {
      labelSelector: SUBSET_LABEL,
    });
  return {
    statefulSetTemplate: native(nativeStatefulSets),
    advancedStatefulSetTemplate: own(workloadKinds.advancedStatefulSetTemplate, statefulSetResource),
    cloneSetTemplate: own(workloadKinds.cloneSetTemplate, cloneSetResource),
    deploymentTemplate: native(deployments),
  };
}

const nativeStatefulSets = projected(workloadKinds.statefulSetTemplate);
const deployments = projected(workloadKinds.deploymentTemplate);

/** Of workloads that other controllers carry out, only what a plan reads is kept, and their spec. */
function projected(kind: WorkloadKind): Resource<SubsetWorkload> {
  const codec = projectedJsonCodec<SubsetWorkload>({
    fromJson: (value) => workloadOf(kind, value),
    identify: identifyProjection,
  });
  return { ...kind.resource, codec };
}

const ORPHANS = "orphaned subsets";

function workloadsIn<C>(
  deps: ChildrenDeps,
  ownerKind: string,
  resource: Resource<C>,
  read: (object: C) => SubsetWorkload,
  orphaned: (workload: SubsetWorkload) => void,
  scope?: WatchScope,
): SubsetWorkloads {
  const children = new Children(deps, ownerKind, resource, (object) => read(object).owners, scope);
  const isOrphan = ({ labels, owners }: SubsetWorkload) =>
    labels[SUBSET_LABEL] !== undefined && !owners.some((owner) => owner.controller);
  const indexes = {
    [ORPHANS]: (object: C) => {
      const workload = read(object);
      return isOrphan(workload) ? [workload.namespace] : [];
    },
  };
  const cache = deps.informers.cacheOf(resource, indexes, scope);
  cache.subscribe(({ object }) => {
    const workload = read(object);
    if (isOrphan(workload)) orphaned(workload);
  });
  return {
    of: (owner) => Array.from(children.of(owner), read),
    orphans: (namespace) => Array.from(cache.byIndex(ORPHANS, namespace), read),
    writable: children.writable(),
  };
}
