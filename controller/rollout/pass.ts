/** What the passes of all rollouts have in common. */
import { type NodeImage, type PodTemplate, revisedPodTemplate } from "../../crds/index.ts";
import type { ObjectMeta } from "../../kube/core/index.ts";
import type { ControllerRevision } from "../../kube/index.ts";
import type { SeenPullJob } from "./images/image_wait.ts";
import type { PlanMemory } from "./plan_memory.ts";
import { currentRevision, findRevision, type Revision, type RevisionSearch } from "./revisions/revisions.ts";

/** What is read from the caches before a pass. */
export interface SeenRollout<Set> {
  set: Set;
  /** Revisions of this set or of nobody that its selector matches, sorted by number. */
  revisions: readonly ControllerRevision[];
  /** Data of any revision in the namespace by name: a name may be taken by another workload's. */
  revisionData: (name: string) => string | undefined;
  /** Errors of the last writes, by concern; absent once they went well. */
  failures: { scale?: string; update?: string };
  /** Image pull jobs that this set controls; undefined when pre-download is off. */
  pullJobs: readonly SeenPullJob[] | undefined;
  /** What the puller of a node reports; absent when nobody asked for the caches. */
  nodeImage?: (node: string) => NodeImage | undefined;
}

/** A workload, and the revision that its pods are to have. */
export interface RolloutPass extends RevisionSearch {
  namespace: string;
  name: string;
  uid: string;
  current: Revision;
}

interface Workload {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly template: PodTemplate };
  readonly status?: { readonly collisionCount?: number; readonly currentRevision?: string };
}

/** Finds the revisions of a workload whose revision data is its pod template. */
export function rolloutPass(
  { set, revisions, revisionData: taken }: Omit<SeenRollout<Workload>, "failures" | "pullJobs">,
  memory: PlanMemory,
): RolloutPass {
  const { namespace = "", name = "", uid = "" } = set.metadata;
  const { template } = set.spec;
  const { collisionCount = 0, currentRevision: recorded } = set.status ?? {};
  const part = revisedPodTemplate;
  const data = memory.templateData.of(template, () => part.data(template));
  const search = findRevision(name, { data, part }, revisions, collisionCount, taken);
  return { ...search, namespace, name, uid, current: currentRevision(recorded, revisions, search.update) };
}
