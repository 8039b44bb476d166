/** The workload of a WorkloadSpread, as the caches know it: which pods are its own, and how many it wants. Spec: workloadspread 4.3 rule 16. */
import {
  type CloneSet,
  type StatefulSet,
  spreadTargetOf,
  type WorkloadIdentity,
  type WorkloadSpread,
} from "../../crds/index.ts";
import { compileSelector, type ObjectMeta, parseSelector } from "../../kube/core/index.ts";
import type { Cache, Change, Pod, Resource } from "../../kube/index.ts";
import { cloneSetResource } from "../clone_set/resource.ts";
import type { KindDeps } from "../kind.ts";
import {
  type NativeStatefulSet,
  nativeStatefulSetResource,
} from "../persistent_pod_state/native_stateful_set.ts";
import {
  deploymentResource,
  jobResource,
  type NativeWorkload,
  replicaSetResource,
} from "../pod_unavailable_budget/native_workload.ts";
import type { HeldPods, PodNeeds } from "../selected_pods.ts";
import { statefulSetResource } from "../stateful_set/resource.ts";
import { versionIgnored } from "./versions.ts";
import { Whitelist } from "./whitelist.ts";
import { findWorkload, replicasPaths } from "./workload_lookup.ts";

export interface SpreadWorkload {
  /** Wanted pods; -1 for unknown. */
  readonly size: number;
  /** UIDs of what controls its pods directly. */
  readonly owners: ReadonlySet<string>;
  /** Selects its pods where it controls none itself; empty for none. */
  readonly selector: string;
  /** See SeenSpread. */
  readonly latestVersion: string | undefined;
  /** It was asked for and nobody follows it. */
  readonly polled?: true;
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

export class Workloads {
  readonly #deps: KindDeps<WorkloadSpread>;
  readonly #whitelist: Whitelist;
  readonly #deployments: PodNeeds<NativeWorkload>;
  readonly #replicaSets: PodNeeds<NativeWorkload>;
  readonly #jobs: PodNeeds<NativeWorkload>;
  readonly #cloneSets: Cache<CloneSet>;
  readonly #statefulSets: Cache<StatefulSet>;
  readonly #nativeSets: Cache<NativeStatefulSet>;

  /** `wake` is called with the key of an object whose workload has changed. */
  constructor(deps: KindDeps<WorkloadSpread>, wake: (key: string) => void) {
    this.#deps = deps;
    const { informers, options } = deps;
    this.#whitelist = new Whitelist({ ...deps, systemNamespace: options.systemNamespace });
    const follow = (resource: Resource<NativeWorkload>) =>
      deps.selectPods(resource).needs((key, change) => {
        if (change === undefined || (isResized(change) && this.#isAbout(key, change.object))) wake(key);
      });
    this.#deployments = follow(deploymentResource);
    this.#replicaSets = follow(replicaSetResource);
    this.#jobs = follow(jobResource);
    this.#cloneSets = informers.cacheOf(cloneSetResource);
    this.#statefulSets = informers.cacheOf(statefulSetResource);
    this.#nativeSets = informers.cacheOf(nativeStatefulSetResource);
    this.#cloneSets.subscribe((change) => this.#onCloneSet(change, wake));
  }

  release(key: string): void {
    for (const needs of [this.#deployments, this.#replicaSets, this.#jobs]) needs.release(key);
  }

  /** Undefined while what it takes is still being listed, which wakes the key. Throws KubeError. */
  async find(key: string, spread: WorkloadSpread): Promise<SpreadWorkload | undefined> {
    const target = spreadTargetOf(spread);
    const whitelist = await this.#whitelist.kinds();
    const isElsewhere = replicasPaths(spread, whitelist).length > 0;
    const known = this.#known(key, spread.metadata.namespace ?? "", target);
    if (known === "listing") return undefined;
    if (known !== "unknown" && !isElsewhere) return workloadOf(known);
    const found = await findWorkload(this.#deps.client, spread, whitelist);
    if (known === "unknown") {
      const asked = found && { ...found, latestVersion: undefined };
      return { ...workloadOf(asked), polled: true };
    }
    return { ...workloadOf(known && { ...known, size: found?.size ?? known.size }), polled: true };
  }

  #known(
    key: string,
    namespace: string,
    { group, kind, name }: WorkloadIdentity,
  ): Sized | "listing" | "unknown" | undefined {
    const at = `${namespace}/${name}`;
    switch (`${group}/${kind}`) {
      case "apps/Deployment":
        return this.#deployment(key, namespace, at);
      case "apps/ReplicaSet":
        return this.#native(
          this.#replicaSets,
          key,
          namespace,
          at,
          ({ templateHash }) => templateHash || versionIgnored,
        );
      case "batch/Job":
        return this.#native(this.#jobs, key, namespace, at, () => undefined);
      case "apps.kruise.io/CloneSet":
        return sizedOf(this.#cloneSets.get(at), ({ spec }) => spec.replicas ?? 1, versionIgnored);
      case "apps.kruise.io/StatefulSet":
        return sizedOf(this.#statefulSets.get(at), ({ spec }) => spec.replicas ?? 1, undefined);
      case "apps/StatefulSet":
        return sizedOf(this.#nativeSets.get(at), ({ replicas }) => replicas, undefined);
      default:
        return "unknown";
    }
  }

  #native(
    needs: PodNeeds<NativeWorkload>,
    key: string,
    namespace: string,
    at: string,
    latestOf: (workload: NativeWorkload) => string | undefined,
  ): Sized | "listing" | undefined {
    const held = heldIn(needs, key, namespace);
    if (held === undefined) return "listing";
    const found = held.get(at);
    return found && { ...found, size: found.replicas, latestVersion: latestOf(found) };
  }

  #deployment(key: string, namespace: string, at: string): Sized | "listing" | undefined {
    const [deployments, sets] = [
      heldIn(this.#deployments, key, namespace),
      heldIn(this.#replicaSets, key, namespace),
    ];
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

  /** Whether a change of this workload matters to the object of the key. */
  #isAbout(key: string, { name, controller }: NativeWorkload): boolean {
    const target = this.#deps.objects.get(key)?.spec.targetRef;
    return target !== undefined && (target.name === name || target.name === controller?.name);
  }

  #onCloneSet(change: Change<CloneSet>, wake: (key: string) => void): void {
    const { object } = change;
    if (change.type === "changed" && isSameSize(change.before, object)) return;
    const { namespace = "", name = "" } = object.metadata;
    for (const spread of this.#deps.objects.byIndex("namespace", namespace)) {
      const target = spreadTargetOf(spread);
      if (target.kind === "CloneSet" && target.name === name)
        wake(this.#deps.resource.codec.identify(spread).key);
    }
  }
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

function workloadOf(found: Sized | undefined): SpreadWorkload {
  if (found === undefined || found.terminating) return none;
  const { size, uid, owners = [uid], selector = "", latestVersion } = found;
  return { size, owners: new Set(owners), selector, latestVersion };
}

function heldIn(
  needs: PodNeeds<NativeWorkload>,
  key: string,
  namespace: string,
): HeldPods<NativeWorkload> | undefined {
  return needs.need(key, [{ namespace, labels: "all" }])?.[0];
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

function isResized(change: Change<NativeWorkload>): boolean {
  if (change.type !== "changed") return true;
  const of = ({ replicas, terminating, revision, observed }: NativeWorkload) =>
    [replicas, terminating, revision, observed].join();
  return of(change.before) !== of(change.object);
}

function isSameSize(a: CloneSet, b: CloneSet): boolean {
  return a.spec.replicas === b.spec.replicas && a.metadata.deletionTimestamp === b.metadata.deletionTimestamp;
}
