/** The workload of a WorkloadSpread: how many pods it wants, and which are its own. Spec: workloadspread 4.3 rule 16. */
import {
  type CloneSet,
  type StatefulSet,
  spreadTargetOf,
  type WorkloadIdentity,
  type WorkloadSpread,
} from "../../../crds/index.ts";
import { compileSelector, type ObjectMeta, parseSelector } from "../../../kube/core/index.ts";
import type { Pod, ReadingClient, Resource } from "../../../kube/index.ts";
import type { NativeStatefulSet } from "../../native/stateful_set.ts";
import {
  deploymentResource,
  jobResource,
  type NativeWorkload,
  replicaSetResource,
} from "../../native/workload.ts";
import { versionIgnored } from "./versions.ts";
import type { WhitelistedKind } from "./whitelist.ts";
import { findWorkload, replicasPaths } from "./workload_lookup.ts";

export interface SpreadWorkload {
  /** Wanted pods; -1 for unknown. */
  readonly size: number;
  /** UIDs of what controls its pods directly; none for a workload that is not there, or being deleted. */
  readonly owners: ReadonlySet<string>;
  /** Selects its pods where it controls none itself; empty for none. */
  readonly selector: string;
  /** See WorkloadSpreadInput. */
  readonly latestVersion: string | undefined;
  /** It was asked for and nobody follows it. */
  readonly polled?: true;
}

/** By `namespace/name`. */
interface Held<T> {
  get(key: string): T | undefined;
  values(): Iterable<T>;
}

/** Workloads of the kinds that are known here. */
export interface KnownWorkloads {
  readonly cloneSets: Pick<Held<CloneSet>, "get">;
  readonly statefulSets: Pick<Held<StatefulSet>, "get">;
  readonly nativeStatefulSets: Pick<Held<NativeStatefulSet>, "get">;
  /** Undefined while they are still being listed. */
  natives(resource: Resource<NativeWorkload>): Held<NativeWorkload> | undefined;
}

const none: SpreadWorkload = { size: 0, owners: new Set(), selector: "", latestVersion: undefined };

interface Sized {
  readonly uid: string;
  readonly size: number;
  readonly terminating: boolean;
  readonly latestVersion: string | undefined;
  /** Instead of itself. */
  readonly owners?: readonly string[];
  readonly selector?: string;
}

/** `client` is asked for sizes that nobody follows. Undefined while what it takes is still being listed. Throws KubeError. */
export async function findTarget(
  client: ReadingClient,
  spread: WorkloadSpread,
  whitelist: readonly WhitelistedKind[],
  known: KnownWorkloads,
): Promise<SpreadWorkload | undefined> {
  const isElsewhere = replicasPaths(spread, whitelist).length > 0;
  const target = knownTarget(spread.metadata.namespace ?? "", spreadTargetOf(spread), known);
  if (target === "listing") return undefined;
  if (target !== "unknown" && !isElsewhere) return workloadOf(target);
  const found = await findWorkload(client, spread, whitelist);
  if (target === "unknown") {
    const asked = found && { ...found, latestVersion: undefined };
    return { ...workloadOf(asked), polled: true };
  }
  return { ...workloadOf(target && { ...target, size: found?.size ?? target.size }), polled: true };
}

function knownTarget(
  namespace: string,
  { group, kind, name }: WorkloadIdentity,
  known: KnownWorkloads,
): Sized | "listing" | "unknown" | undefined {
  const at = `${namespace}/${name}`;
  const native = (
    resource: Resource<NativeWorkload>,
    latestOf: (workload: NativeWorkload) => string | undefined,
  ): Sized | "listing" | undefined => {
    const held = known.natives(resource);
    if (held === undefined) return "listing";
    const found = held.get(at);
    return found && { ...found, size: found.replicas, latestVersion: latestOf(found) };
  };
  switch (`${group}/${kind}`) {
    case "apps/Deployment":
      return deploymentAt(at, known);
    case "apps/ReplicaSet":
      return native(replicaSetResource, ({ templateHash }) => templateHash || versionIgnored);
    case "batch/Job":
      return native(jobResource, () => undefined);
    case "apps.kruise.io/CloneSet":
      return sizedOf(known.cloneSets.get(at), ({ spec }) => spec.replicas ?? 1, versionIgnored);
    case "apps.kruise.io/StatefulSet":
      return sizedOf(known.statefulSets.get(at), ({ spec }) => spec.replicas ?? 1, undefined);
    case "apps/StatefulSet":
      return sizedOf(known.nativeStatefulSets.get(at), ({ replicas }) => replicas, undefined);
    default:
      return "unknown";
  }
}

function deploymentAt(at: string, known: KnownWorkloads): Sized | "listing" | undefined {
  const [deployments, sets] = [known.natives(deploymentResource), known.natives(replicaSetResource)];
  if (deployments === undefined || sets === undefined) return "listing";
  const found = deployments.get(at);
  if (found === undefined) return undefined;
  const owned = [...sets.values()].filter(({ controller }) => controller?.uid === found.uid);
  const current = owned.find(({ revision }) => revision !== "" && revision === found.revision);
  return {
    ...found,
    size: found.replicas,
    // Until its controller has looked, the set of an earlier template bears the revision still.
    latestVersion: found.observed ? current?.templateHash || undefined : undefined,
    owners: owned.map(({ uid }) => uid),
  };
}

function sizedOf<T extends { readonly metadata: ObjectMeta }>(
  object: T | undefined,
  size: (object: T) => number,
  latestVersion: string | undefined,
): Sized | undefined {
  if (object === undefined) return undefined;
  const { uid = "", deletionTimestamp } = object.metadata;
  return { uid, size: size(object), terminating: deletionTimestamp !== undefined, latestVersion };
}

function workloadOf(found: Sized | undefined): SpreadWorkload {
  if (found === undefined || found.terminating) return none;
  const { size, uid, owners = [uid], selector = "", latestVersion } = found;
  return { size, owners: new Set(owners), selector, latestVersion };
}

/** Pods of the workload that the filter of the object takes; none of one without pods. */
export function podsOfWorkload(
  { spec }: WorkloadSpread,
  { size, owners, selector }: SpreadWorkload,
  pods: Iterable<Pod>,
): Pod[] {
  if (size === 0) return [];
  const all = [...pods];
  let own = all.filter(({ controller }) => controller !== undefined && owners.has(controller.uid));
  if (own.length === 0 && selector !== "") {
    const compiled = parseSelector(selector);
    own = all.filter(({ labels }) => compiled.matches(labels));
  }
  if (!spec.targetFilter?.selector) return own;
  const filter = compileSelector(spec.targetFilter.selector);
  return own.filter(({ labels }) => filter.matches(labels));
}
