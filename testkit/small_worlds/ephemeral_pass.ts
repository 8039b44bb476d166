/** Passes of the reconciler of EphemeralJobs, each over what it is given: which pods it has heard of, and how its writes ended. */
import { EphemeralJobReconciler } from "../../controller/kinds/ephemeral_job/reconcile.ts";
import type { WriteOutcome } from "../../controller/plan/effects.ts";
import { ephemeralJobResource } from "../../controller/plan/resources.ts";
import type { Result } from "../../controller/runtime/reconciler.ts";
import type {
  SelectableObject,
  SelectionReader,
  Selections,
} from "../../controller/runtime/selected_objects.ts";
import type { EphemeralJob } from "../../crds/index.ts";
import type { JsonObject } from "../../kube/core/index.ts";
import { type Resource, WorkQueue } from "../../kube/index.ts";
import { kindDeps } from "../controller/kind_deps_builder.ts";
import { testClock } from "../kube/fake_clock.ts";
import { fakeServer } from "../kube/fake_server.ts";

export type Pods = ReadonlyMap<string, JsonObject>;

export interface JobObserved {
  readonly job: EphemeralJob;
  /** Undefined: they are not listed yet. */
  readonly pods: Pods | undefined;
  /** Whether it follows them before the pass. */
  readonly isFollowing: boolean;
  /** How its writes ended, by the UID of the pod. */
  readonly outcomes: ReadonlyMap<string, WriteOutcome>;
  /** The pass in which its end was planned, where that is not stored yet. */
  readonly ended?: JobObserved | undefined;
  readonly now: number;
}

export interface Passed {
  readonly result: Result | undefined;
  /** Whether it goes on following pods. */
  readonly isFollowing: boolean;
}

/** One reconciler: all that it remembers is taken from it and given back before each pass. */
class Passes {
  #observed: JobObserved | undefined;
  #isFollowing = false;
  readonly #deps = {
    ...kindDeps(ephemeralJobResource, fakeServer().client, {
      ...testClock(),
      now: () => this.#observed?.now ?? 0,
    }),
    selectObjects: <T extends SelectableObject>(resource: Resource<T>) => this.#selections(resource),
  };
  readonly #reconciler = new EphemeralJobReconciler(this.#deps);

  over(observed: JobObserved): Passed {
    const { job, outcomes, ended } = observed;
    const key = this.#begin(observed);
    if (ended !== undefined) {
      this.#observed = ended;
      this.#reconciler.reconcile(ended.job, key);
      this.#observed = observed;
      this.#isFollowing = observed.isFollowing;
    }
    if (outcomes.size > 0) this.#reconciler.executed(key, {}, { writes: outcomes });
    const result = this.#reconciler.reconcile(job, key);
    return { result, isFollowing: this.#isFollowing };
  }

  isFollowedUp(observed: JobObserved, outcomes: JobObserved["outcomes"], error?: unknown): boolean {
    const key = this.#begin(observed);
    this.#reconciler.executed(key, {}, { writes: outcomes, ...(error === undefined ? {} : { error }) });
    return this.#deps.queue.depth > 0;
  }

  #begin(observed: JobObserved): string {
    const { clock, objects, resource } = this.#deps;
    const { key } = resource.codec.identify(observed.job);
    this.#reconciler.forget(key);
    this.#deps.queue = new WorkQueue({ clock });
    this.#observed = observed;
    this.#isFollowing = observed.isFollowing;
    objects.upsert(observed.job);
    return key;
  }

  #selections<T extends SelectableObject>({ codec }: Resource<T>): Selections<T> {
    const decoded = new WeakMap<JsonObject, T>();
    const decode = (pod: JsonObject): T => {
      const known = decoded.get(pod) ?? codec.decode(Buffer.from(JSON.stringify(pod)), "application/json");
      decoded.set(pod, known);
      return known;
    };
    const readers = (): SelectionReader<T>[] | undefined => {
      const pods = this.#observed?.pods;
      return pods && [readerOf([...pods.values()].map(decode))];
    };
    return {
      needs: () => ({
        need: () => {
          this.#isFollowing = true;
          return readers();
        },
        held: () => (this.#isFollowing ? readers() : undefined),
        refusal: () => undefined,
        has: () => this.#isFollowing,
        release: () => {
          this.#isFollowing = false;
        },
      }),
    };
  }
}

const passes = new Passes();

export function passOver(observed: JobObserved): Passed {
  return passes.over(observed);
}

/** Whether another pass follows the one whose writes ended so. */
export function isFollowedUp(
  observed: JobObserved,
  outcomes: JobObserved["outcomes"],
  error?: unknown,
): boolean {
  return passes.isFollowedUp(observed, outcomes, error);
}

function readerOf<T>(pods: readonly T[]): SelectionReader<T> {
  return {
    get: () => undefined,
    byIndex: () => [],
    values: () => pods,
    size: pods.length,
    writeBack: () => false,
    addIndex: () => undefined,
  };
}
