/** UnitedDeployments: follows workloads and pods, observes and plans. No policy lives here. */
import type { SubsetTemplateName, UnitedDeployment } from "../../../crds/index.ts";
import { compileSelector, objectRef, type Selector } from "../../../kube/core/index.ts";
import {
  type Change,
  controllerRevisionResource,
  messageOf,
  type Pod,
  podResource,
  sidesOf,
} from "../../../kube/index.ts";
import type { Outcomes, WriteOutcome } from "../../plan/effects.ts";
import { longestGatheringMs } from "../../rollout/delays.ts";
import type { Writables } from "../../runtime/executor/executor.ts";
import { failureOf } from "../../runtime/executor/failure.ts";
import { writable } from "../../runtime/executor/writable.ts";
import { namespaceIndex } from "../../runtime/informers.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import type { SelectionNeeds, SelectionReader } from "../../runtime/selected_objects.ts";
import type { UnitedIndex } from "./classify.ts";
import { unitedResult } from "./effects.ts";
import { observeUnitedDeployment, unitedIndex, unitedPodSelection } from "./observe.ts";
import { planUnitedDeployment } from "./plan.ts";
import { type SubsetWorkloads, subsetWorkloads } from "./subset_workloads.ts";
import type { SubsetWorkload } from "./workload.ts";
import { workloadKinds } from "./workloads.ts";

type Deps = KindDeps<UnitedDeployment>;

/** The pods that an object selects, and what they count as. */
interface Followed {
  readonly held: SelectionReader<Pod>;
  readonly index: UnitedIndex;
}

export class UnitedDeploymentReconciler implements Reconciler<UnitedDeployment> {
  readonly writes: Writables;
  readonly #deps: Deps;
  readonly #workloads: Readonly<Record<SubsetTemplateName, SubsetWorkloads>>;
  readonly #pods: SelectionNeeds<Pod>;
  /** By key. */
  readonly #followed = new Map<string, Followed>();
  /** By key: what the server refused in the last pass. */
  readonly #failures = new Map<string, string>();

  constructor(deps: Deps) {
    this.#deps = deps;
    deps.informers.cacheOf(deps.resource, namespaceIndex);
    this.#workloads = subsetWorkloads(deps, deps.resource.kind, (workload) => this.#onOrphan(workload));
    this.#pods = deps.selectedPods.needs((key, change) => this.#onPod(key, change));
    const { revisions } = deps.caches;
    this.writes = {
      revisions: writable(controllerRevisionResource, {
        writeBack: (revision) => revisions.writeBack(revision),
        removed: (key, uid) => revisions.remove(key, uid),
      }),
      pods: writable(podResource, { writeBack: (pod, key) => this.#followed.get(key)?.held.writeBack(pod) }),
      ...Object.fromEntries(
        Object.values(workloadKinds).map(({ template, type }) => [type, this.#workloads[template].writable]),
      ),
    };
  }

  coalescingMs(key: string): number {
    return longestGatheringMs(this.#deps.objects.get(key)?.spec.replicas ?? 0);
  }

  forget(key: string): void {
    this.#pods.release(key);
    this.#followed.delete(key);
    this.#failures.delete(key);
  }

  reconcile(object: UnitedDeployment, key: string): Result | undefined {
    const { spec } = object;
    const followed = this.#follow(object, key);
    if (followed === undefined) return undefined;
    const { caches, clock, random } = this.#deps;
    const reader = { ...caches, workloads: this.#workloads };
    const { index: pods } = followed;
    const failure = this.#failures.get(key) ?? "";
    const plan = planUnitedDeployment(
      observeUnitedDeployment(object, reader, { pods, failure, now: clock.now() }),
    );
    const orphans = this.#orphansFor(objectRef(object).namespace, compileSelector(spec.selector));
    return unitedResult(object, plan, orphans, random);
  }

  /** The status of the next pass tells what was refused, until all goes well. */
  executed(key: string, _result: Result, { writes, error }: Outcomes): void {
    if (!this.#followed.has(key)) return;
    const isRefused = ({ error }: WriteOutcome) => error !== undefined && failureOf(error) === "refused";
    const refusal = [...writes.values()].find(isRefused);
    if (refusal !== undefined) this.#failures.set(key, messageOf(refusal.error));
    else if (error === undefined && this.#failures.delete(key)) this.#deps.queue.add(key);
  }

  /** Undefined while the pods are still being listed. */
  #follow(object: UnitedDeployment, key: string): Followed | undefined {
    const [held] = this.#pods.need(key, [unitedPodSelection(object)]) ?? [];
    if (held === undefined) return undefined;
    const known = this.#followed.get(key);
    // Another selector has other pods.
    if (known?.held === held) return known;
    const followed = { held, index: unitedIndex(object, held) };
    this.#followed.set(key, followed);
    return followed;
  }

  #onPod(key: string, change: Change<Pod> | undefined): void {
    if (change !== undefined) {
      const { before, after } = sidesOf(change);
      this.#followed.get(key)?.index.podChanged(before, after);
    }
    this.#deps.queue.addAfter(key, this.coalescingMs(key));
  }

  /** Somebody else's workload may become the object's by its labels; it is enqueued for each that could be its owner. */
  #onOrphan({ namespace, labels }: SubsetWorkload): void {
    const { objects, queue, resource } = this.#deps;
    for (const object of objects.byIndex("namespace", namespace))
      if (compileSelector(object.spec.selector).matches(labels))
        queue.add(resource.codec.identify(object).key);
  }

  #orphansFor(namespace: string, selector: Selector): SubsetWorkload[] {
    return Object.values(this.#workloads)
      .flatMap((workloads) => workloads.orphans(namespace))
      .filter(({ labels, isDeleting }) => !isDeleting && selector.matches(labels));
  }
}
