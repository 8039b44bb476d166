/** What plans of all rollouts get, and what they work out before they decide anything. Nothing here changes during a pass. */
import { type NodeImage, type PodTemplate, revisedPodTemplate } from "../../crds/index.ts";
import type { ObjectMeta, Selector } from "../../kube/core/index.ts";
import type { ControllerRevision } from "../../kube/index.ts";
import type { Explaining } from "./decisions.ts";
import type { ObservedPullJob } from "./images/image_wait.ts";
import type { PlanMemory } from "./plan_memory.ts";
import { currentRevision, findRevision, type Revision, type RevisionSearch } from "./revisions/revisions.ts";

/** Everything that a plan depends on. */
export interface PlanInput<Observed, Options> {
  /** Objects, as a reader gave them. */
  readonly observed: Observed;
  /** Gates and flags, resolved once. */
  readonly options: Options;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** From 0 to 1, for names. */
  readonly random: () => number;
  /** Whether the reasons to wait are worked out, which may cost as much as there are pods. Default: yes. */
  readonly explains?: boolean;
  /** Of earlier passes; default: none. */
  readonly memory?: PlanMemory;
}

/** The input of one plan, resolved: its pods are a view of the index as of now, and every default is filled in. */
export interface PlanState<Observed, Options, Strategy, Pods> extends Explaining {
  readonly observed: Omit<Observed, "pods">;
  readonly options: Options;
  readonly strategy: Strategy;
  readonly pods: Pods;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly random: () => number;
}

/** What is observed of a workload that has revisions of a pod template. */
export interface ObservedRollout<Set> {
  readonly set: Set;
  /** Of the set: which pods and revisions without a controller are its own. */
  readonly selector: Selector;
  /** Revisions that this set controls, and those without a controller that its selector matches, sorted by number. */
  readonly revisions: readonly ControllerRevision[];
  /** Data of any revision in the namespace by name: a name may be taken by another workload's. */
  readonly revisionData: (name: string) => string | undefined;
  /** Errors of the last writes, by concern; absent once they went well. */
  readonly failures: { readonly scale?: string; readonly update?: string };
  /** Image pull jobs that this set controls; undefined when pre-download is off. */
  readonly pullJobs: readonly ObservedPullJob[] | undefined;
  /** What the puller of a node reports; absent when nobody asked for the caches. */
  readonly nodeImage?: (node: string) => NodeImage | undefined;
}

/** A workload, and the revision that its pods are to have. */
export interface RolloutRevisions extends Readonly<RevisionSearch> {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly current: Revision;
}

interface Workload {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly template: PodTemplate };
  readonly status?: { readonly collisionCount?: number; readonly currentRevision?: string };
}

/** Finds the revisions of a workload whose revision data is its pod template. */
export function rolloutRevisions(
  {
    set,
    revisions,
    revisionData: taken,
  }: Pick<ObservedRollout<Workload>, "set" | "revisions" | "revisionData">,
  memory: PlanMemory,
): RolloutRevisions {
  const { namespace = "", name = "", uid = "" } = set.metadata;
  const { template } = set.spec;
  const { collisionCount = 0, currentRevision: recorded } = set.status ?? {};
  const part = revisedPodTemplate;
  const data = memory.templateData.of(template, () => part.data(template));
  const search = findRevision(name, { data, part }, revisions, collisionCount, taken);
  return { ...search, namespace, name, uid, current: currentRevision(recorded, revisions, search.update) };
}
