/** The workload of a WorkloadSpread for those who look once and follow nothing. */
import { spreadTargetOf, type WorkloadSpread } from "../../../crds/index.ts";
import { isKubeError, listAll, type ReadingClient, type Resource } from "../../../kube/index.ts";
import { nativeStatefulSetResource } from "../../native/stateful_set.ts";
import {
  deploymentResource,
  jobResource,
  type NativeWorkload,
  replicaSetResource,
} from "../../native/workload.ts";
import { cloneSetResource, statefulSetResource } from "../../plan/resources.ts";
import { findTarget, type SpreadWorkload } from "./target_workload.ts";
import type { WhitelistedKind } from "./whitelist.ts";

/** Undefined for a workload that is not there. Throws KubeError. */
export async function listTarget(
  client: ReadingClient,
  spread: WorkloadSpread,
  whitelist: readonly WhitelistedKind[],
): Promise<SpreadWorkload | undefined> {
  const { namespace = "" } = spread.metadata;
  const { group, kind, name } = spreadTargetOf(spread);
  const target = `${group}/${kind}`;
  const list = async <T>(resource: Resource<T>, fieldSelector?: string): Promise<ReadonlyMap<string, T>> => {
    const options = { namespace, ...(fieldSelector === undefined ? {} : { fieldSelector }) };
    const found = await listAll(client, resource, options).catch((error: unknown) => {
      if (!isKubeError(error, "NotFound")) throw error;
      // The definitions of an earlier release, before it is replaced. What is read here is alike in both versions.
      return listAll(client, { ...resource, version: "v1alpha1" }, options);
    });
    return new Map(found.map((object) => [resource.codec.identify(object).key, object]));
  };
  const named = async <T>(resource: Resource<T>): Promise<ReadonlyMap<string, T>> =>
    `${resource.group}/${resource.kind}` === target
      ? list(resource, `metadata.name=${name}`)
      : new Map<string, T>();
  // Those of a Deployment have names of their own.
  const replicaSets = () =>
    target === "apps/Deployment" ? list(replicaSetResource) : named(replicaSetResource);
  const natives = new Map<Resource<NativeWorkload>, ReadonlyMap<string, NativeWorkload>>([
    [deploymentResource, await named(deploymentResource)],
    [replicaSetResource, await replicaSets()],
    [jobResource, await named(jobResource)],
  ]);
  const found = await findTarget(client, spread, whitelist, {
    cloneSets: await named(cloneSetResource),
    statefulSets: await named(statefulSetResource),
    nativeStatefulSets: await named(nativeStatefulSetResource),
    natives: (resource) => natives.get(resource),
  });
  // A Deployment may have no set yet, and is there for all that.
  return found?.owners.size === 0 && found.size === 0 ? undefined : found;
}
