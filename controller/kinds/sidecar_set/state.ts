/** What a plan of a SidecarSet gets, and what it works out before it decides. Spec: sidecarset 4. */
import type { SidecarSet } from "../../../crds/index.ts";
import type { ControllerRevision } from "../../../kube/index.ts";
import { PlanMemory } from "../../rollout/plan_memory.ts";
import type { RevisionSearch } from "../../rollout/revisions/revisions.ts";
import type { PlanInput, PlanState } from "../../rollout/state.ts";
import type { MatchedNamespaces, SidecarIndex, SidecarView } from "./classify.ts";
import { missingRevision } from "./injection/version.ts";
import type { UpdateTarget } from "./pod_update.ts";
import { findSidecarRevision } from "./revisions.ts";
import { rolloutOf, type SidecarSetStrategy, sidecarSetStrategyOf } from "./rollout.ts";

export interface SidecarSetObserved {
  readonly set: SidecarSet;
  /** Pods that the set selects; writes in flight are already applied to them. */
  readonly pods: SidecarIndex;
  readonly namespaces: MatchedNamespaces;
  /** The set's, sorted by number. */
  readonly revisions: readonly ControllerRevision[];
  /** Data of any revision by name: a name may be taken by another object's. */
  revisionData(name: string): string | undefined;
}

/** Everything that is not in the object. */
interface SidecarSetPlanOptions {
  /** Of this program, where revisions are. */
  readonly systemNamespace: string;
}

export interface SidecarSetState
  extends Readonly<RevisionSearch>,
    PlanState<SidecarSetObserved, SidecarSetPlanOptions, SidecarSetStrategy, SidecarView> {
  readonly target: UpdateTarget;
  /** Why new pods are refused. */
  readonly refusal: string | undefined;
}

/** Brings the index of pods up to now, for one plan: its view is good until the next event. */
export function sidecarSetState({
  observed,
  options,
  now,
  random,
  explains = true,
  memory = new PlanMemory(),
}: PlanInput<SidecarSetObserved, SidecarSetPlanOptions>): SidecarSetState {
  const { set, revisions, namespaces } = observed;
  const rollout = rolloutOf(set);
  const pods = observed.pods.refresh({ rollout, namespaces });
  const search = findSidecarRevision(set, revisions, (name) => observed.revisionData(name), memory);
  const { resourceVersion = "" } = set.metadata;
  return {
    ...search,
    observed,
    options,
    strategy: sidecarSetStrategyOf(set),
    now,
    random,
    explains,
    pods,
    target: { rollout, revision: search.update.name, setVersion: resourceVersion },
    refusal: missingRevision(set.spec, {
      ofSet: revisions,
      exists: (name) => observed.revisionData(name) !== undefined,
    }),
  };
}
