/** One evaluation of a plan: what is seen, read from the caches, resolved once. Spec: cloneset 4.1, rules 5 to 7. */
import type { CloneSet, NodeImage } from "../../crds/index.ts";
import type { Labels } from "../../kube/core/index.ts";
import type { ControllerRevision, PersistentVolumeClaim, Pod } from "../../kube/index.ts";
import type { SeenPullJob } from "../rollout/images/image_wait.ts";
import type { Eligibility } from "../rollout/in_place/change.ts";
import type { Revision, RevisionSearch } from "../rollout/revisions/revisions.ts";
import type { CloneIndex, CloneView } from "./classify.ts";
import type { Numbers } from "./numbers.ts";
import type { CloneSetOptions, Strategy } from "./observe.ts";
import type { Topology } from "./order.ts";

/** What is read from the caches before a pass. */
export interface Seen {
  set: CloneSet;
  /** Owned pods, inactive ones included; writes in flight are already applied to them. */
  pods: CloneIndex;
  claims: readonly PersistentVolumeClaim[];
  /** Revisions of this set or of nobody that its selector matches, sorted by number. */
  revisions: readonly ControllerRevision[];
  /** Data of any revision in the namespace by name: a name may be taken by another workload's. */
  revisionData: (name: string) => string | undefined;
  /** Errors of the last writes, by concern; absent once they went well. */
  failures: { scale?: string; update?: string };
  /** Labels of a node, for topology spread. */
  nodeLabels: (node: string) => Labels | undefined;
  /** Names of image pull jobs that this set controls; undefined when pre-download is off. */
  pullJobs: readonly SeenPullJob[] | undefined;
  /** What a node is to pull; absent where nobody asks. */
  nodeImage?: (node: string) => NodeImage | undefined;
}

/** One evaluation: what was seen, resolved once, and shared by the parts of the plan, which change nothing of it. */
export interface Pass {
  seen: Omit<Seen, "pods">;
  options: CloneSetOptions;
  strategy: Strategy;
  namespace: string;
  name: string;
  uid: string;
  now: number;
  random: () => number;
  update: Revision;
  /** What is to be done so that the update revision exists under its number. */
  write: RevisionSearch["write"];
  collisionCount: number;
  current: Revision;
  pods: CloneView;
  /** Owned pods as they will be. Costs as much as there are pods. */
  everyPod: () => readonly Pod[];
  numbers: Numbers;
  topology: Topology;
  /** Eligibility by revision label of the pod. */
  eligible: Map<string, Eligibility>;
}
