/** Reconciles a SidecarSet: follows the pods that it selects, observes them, plans, and says who carries the plan out. */
import type { SidecarSet } from "../../../crds/index.ts";
import { compileSelector, type ObjectKey } from "../../../kube/core/index.ts";
import {
  type Cache,
  type Change,
  type Namespace,
  namespaceResource,
  type Pod,
  sidesOf,
} from "../../../kube/index.ts";
import type { OwnedPods } from "../../rollout/pods/owned_pods.ts";
import type { PendingPods } from "../../rollout/writes/pending_pods.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler } from "../../runtime/reconciler.ts";
import type { ObjectSelection, SelectionNeeds, SelectionReader } from "../../runtime/selected_objects.ts";
import { WorkloadReconciler } from "../../runtime/workload_reconciler.ts";
import type { SidecarIndex } from "./classify.ts";
import { namedNamespaces } from "./injection/matching.ts";
import { observeSidecarSet, ownerOf, selectedIndex } from "./observe.ts";
import { planSidecarSet } from "./plan.ts";
import { sidecarSetState } from "./state.ts";

export function sidecarSetReconciler(deps: KindDeps<SidecarSet>): Reconciler<SidecarSet> {
  const { objects, options, queue, resource } = deps;
  const { systemNamespace } = options;
  const enqueue = (key: string): void => queue.addAfter(key, reconciler.coalescingMs(key));
  const namespaces = new NamespaceLabels(deps.informers.cacheOf(namespaceResource), () => {
    for (const set of objects.values())
      if (set.spec.namespaceSelector) enqueue(resource.codec.identify(set).key);
  });
  const reader = { ...deps.caches, namespaces: namespaces.cache };
  const pods = new SidecarPods(deps, enqueue, systemNamespace);
  const reconciler = new WorkloadReconciler(deps, {
    pods,
    namespace: systemNamespace,
    sizeOf: (status) => status?.matchedPods ?? 0,
    forget: ({ key }) => pods.forget(key),
    plan: (set, { performer, now, random, memory }) => {
      const owner = ownerOf(set.metadata.uid, systemNamespace);
      const index = pods.indexOf(set, () => performer.pending(owner));
      if (index === undefined) return undefined;
      const state = { index, systemNamespace, namespacesVersion: namespaces.version };
      const observed = observeSidecarSet(set, reader, state);
      return planSidecarSet(
        sidecarSetState({ observed, options: { systemNamespace }, now, random, memory, explains: false }),
      );
    },
  });
  return reconciler;
}

/** Labels of namespaces rarely change: their version tells when. */
class NamespaceLabels {
  readonly cache: Cache<Namespace>;
  #version = 0;

  /** `changed`: sets with a selector may match others. */
  constructor(namespaces: Cache<Namespace>, changed: () => void) {
    this.cache = namespaces;
    namespaces.subscribe((change) => {
      const { before, after } = sidesOf(change);
      if (JSON.stringify(before?.labels) === JSON.stringify(after?.labels)) return;
      this.#version++;
      changed();
    });
  }

  get version(): number {
    return this.#version;
  }
}

interface Followed {
  readonly uid: string;
  readonly generation: number;
  readonly held: readonly SelectionReader<Pod>[];
  readonly index: SidecarIndex;
}

/** The pods that each set selects, and what they count as, by the set's key. */
class SidecarPods implements OwnedPods {
  readonly #needs: SelectionNeeds<Pod>;
  readonly #followed = new Map<string, Followed>();
  readonly #enqueue: (key: string) => void;
  readonly #listeners: Parameters<OwnedPods["subscribe"]>[0][] = [];
  readonly #systemNamespace: string;

  constructor(
    { selectedPods }: Pick<KindDeps<SidecarSet>, "selectedPods">,
    enqueue: (key: string) => void,
    systemNamespace: string,
  ) {
    this.#enqueue = enqueue;
    this.#systemNamespace = systemNamespace;
    this.#needs = selectedPods.needs((key, change) => this.#onPod(key, change));
  }

  /** Undefined while the pods are still being listed. */
  indexOf({ metadata, spec }: SidecarSet, pending: () => PendingPods): SidecarIndex | undefined {
    const { name: key = "", uid = "", generation = 0 } = metadata;
    const known = this.#followed.get(key);
    // Another generation may select other pods.
    if (known?.uid === uid && known.generation === generation) return known.index;
    this.#followed.delete(key);
    const held = this.#needs.need(key, selectionsOf(spec));
    if (held === undefined) return undefined;
    const index = selectedIndex(held, pending);
    this.#followed.set(key, { uid, generation, held, index });
    return index;
  }

  forget(key: string): void {
    this.#needs.release(key);
    this.#followed.delete(key);
  }

  writeBack(pod: Pod, key: ObjectKey): void {
    for (const pods of this.#followed.get(key)?.held ?? []) pods.writeBack(pod);
  }

  /** Nothing that a SidecarSet writes ends a pod: its watch says when one is gone. */
  removed(): void {}

  subscribe(changed: Parameters<OwnedPods["subscribe"]>[0]): void {
    this.#listeners.push(changed);
  }

  #onPod(key: string, change: Change<Pod> | undefined): void {
    const followed = this.#followed.get(key);
    if (change !== undefined && followed !== undefined) {
      const { before, after } = sidesOf(change);
      followed.index.podChanged(before, after);
      const owner = ownerOf(followed.uid, this.#systemNamespace);
      for (const changed of this.#listeners) changed(owner, before, after);
    }
    this.#enqueue(key);
  }
}

/** Watches are limited to the namespaces that the selector names, if it does. */
function selectionsOf({ selector, namespaceSelector }: SidecarSet["spec"]): ObjectSelection[] {
  if (selector === undefined || compileSelector(selector).empty)
    throw new Error("spec.selector is empty: which pods are managed has to be said");
  const named = namedNamespaces(namespaceSelector) ?? [""];
  return [...new Set(named)].map((namespace) => ({ namespace, labels: selector }));
}
