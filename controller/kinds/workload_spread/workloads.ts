/** The workloads of WorkloadSpreads as the caches know them, and who is woken when they change. */
import { type CloneSet, type StatefulSet, spreadTargetOf, type WorkloadSpread } from "../../../crds/index.ts";
import type { Cache, Change, Resource } from "../../../kube/index.ts";
import { type NativeStatefulSet, nativeStatefulSetResource } from "../../native/stateful_set.ts";
import {
  deploymentResource,
  jobResource,
  type NativeWorkload,
  replicaSetResource,
} from "../../native/workload.ts";
import { cloneSetResource, statefulSetResource } from "../../plan/resources.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { SelectionNeeds } from "../../runtime/selected_objects.ts";
import { findTarget, type SpreadWorkload } from "./target_workload.ts";
import { Whitelist } from "./whitelist.ts";

export class Workloads {
  readonly #deps: KindDeps<WorkloadSpread>;
  readonly #whitelist: Whitelist;
  readonly #natives: ReadonlyMap<Resource<NativeWorkload>, SelectionNeeds<NativeWorkload>>;
  readonly #cloneSets: Cache<CloneSet>;
  readonly #statefulSets: Cache<StatefulSet>;
  readonly #nativeStatefulSets: Cache<NativeStatefulSet>;

  /** `enqueue` is called with the key of an object whose workload has changed. */
  constructor(deps: KindDeps<WorkloadSpread>, enqueue: (key: string) => void) {
    this.#deps = deps;
    const { informers, options } = deps;
    this.#whitelist = new Whitelist({ ...deps, systemNamespace: options.systemNamespace });
    const follow = (resource: Resource<NativeWorkload>) =>
      deps.selectObjects(resource).needs((key, change) => {
        if (change === undefined || (isResized(change) && this.#isAbout(key, change.object))) enqueue(key);
      });
    this.#natives = new Map(
      [deploymentResource, replicaSetResource, jobResource].map((resource) => [resource, follow(resource)]),
    );
    this.#cloneSets = informers.cacheOf(cloneSetResource);
    this.#statefulSets = informers.cacheOf(statefulSetResource);
    this.#nativeStatefulSets = informers.cacheOf(nativeStatefulSetResource);
    this.#cloneSets.subscribe((change) => this.#onCloneSet(change, enqueue));
  }

  release(key: string): void {
    for (const needs of this.#natives.values()) needs.release(key);
  }

  /** Undefined while what it takes is still being listed, which enqueues the key. Throws KubeError. */
  async find(key: string, spread: WorkloadSpread): Promise<SpreadWorkload | undefined> {
    const { namespace = "" } = spread.metadata;
    return findTarget(this.#deps.client, spread, await this.#whitelist.kinds(), {
      cloneSets: this.#cloneSets,
      statefulSets: this.#statefulSets,
      nativeStatefulSets: this.#nativeStatefulSets,
      natives: (resource) => this.#natives.get(resource)?.need(key, [{ namespace, labels: "all" }])?.[0],
    });
  }

  /** Whether a change of this workload matters to the object of the key. */
  #isAbout(key: string, { name, controller }: NativeWorkload): boolean {
    const target = this.#deps.objects.get(key)?.spec.targetRef;
    return target !== undefined && (target.name === name || target.name === controller?.name);
  }

  #onCloneSet(change: Change<CloneSet>, enqueue: (key: string) => void): void {
    const { object } = change;
    if (change.type === "changed" && isSameSize(change.before, object)) return;
    const { namespace = "", name = "" } = object.metadata;
    for (const spread of this.#deps.objects.byIndex("namespace", namespace)) {
      const target = spreadTargetOf(spread);
      if (target.kind === "CloneSet" && target.name === name)
        enqueue(this.#deps.resource.codec.identify(spread).key);
    }
  }
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
