/** What a kind brings (a reconciler, which the shell runs) and what it is given. New kinds add these, not a new loop. */
import type { RevisedPart } from "../../crds/index.ts";
import type { KubeObject } from "../../kube/core/index.ts";
import type {
  Cache,
  Clock,
  ControllerRevision,
  EventRecorder,
  Log,
  Node,
  PersistentVolumeClaim,
  Pod,
  Random,
  ReadingClient,
  Resource,
  WorkQueue,
  Writer,
} from "../../kube/index.ts";
import type { PolicyRule } from "../plan/access.ts";
import type { OwnerScope } from "../plan/owners.ts";
import type { ClusterReader } from "../rollout/cluster_reader.ts";
import type { ImagePulls } from "../rollout/images/image_pulls.ts";
import type { DisruptionGuard, PodAdmission, PodGuardDeps } from "./admission/pod_admission.ts";
import type { Webhook } from "./admission/webhook.ts";
import type { FeatureGates } from "./feature_gates.ts";
import type { Informers } from "./informers.ts";
import type { ObjectMetrics } from "./object_metrics.ts";
import type { ControllerOptions } from "./options.ts";
import type { PlainReconciler, Reconciler } from "./reconciler.ts";
import type { SelectableObject, Selections } from "./selected_objects.ts";

/** Filled by one watch each. */
export interface SharedCaches extends Pick<ClusterReader, "owned" | "orphans"> {
  pods: Cache<Pod>;
  claims: Cache<PersistentVolumeClaim>;
  revisions: Cache<ControllerRevision>;
  nodes: Cache<Node>;
}

/** All that kinds are given of the caches. */
export interface Caches extends SharedCaches, ImagePulls {}

/** What the API server can do, found out once at start. */
export interface ServerFeatures {
  /** `pods/resize` (1.32 and newer). */
  resizeSubresource: boolean;
  /** ImagePullJob is served. */
  imagePullJobs: boolean;
}

/** What every controller is given. */
export interface SharedDeps {
  /** Reads; what writes is asked for by the owner for whom it does. */
  client: ReadingClient;
  /** Refuses what is in another namespace than the owner. */
  writesFor(owner: OwnerScope): Writer;
  clock: Clock;
  random: Random;
  log: Log;
  recorder: EventRecorder;
  options: ControllerOptions;
  server: ServerFeatures;
  caches: Caches;
  informers: Informers;
  /** Pods of any owner, for objects that select them. */
  selectedPods: Selections<Pod>;
  /** The same for any resource, or for pods in another projection: one for each resource object, for as long as the process runs. */
  selectObjects<T extends SelectableObject>(resource: Resource<T>): Selections<T>;
  /** Asked before an update of a pod; absent where no controller guards pods. */
  mayDisrupt?: DisruptionGuard | undefined;
  queue: WorkQueue;
  signal: AbortSignal;
}

/** What the controller of one kind is given. */
export interface KindDeps<T> extends SharedDeps {
  objects: Cache<T>;
  resource: Resource<T>;
}

/** What every controller of this program says of itself. */
export interface Controller {
  /** Name in metrics and logs; also the event source, and the name under which `workers` of the options are found. */
  controllerName: string;
  /** Flag that sets how many reconciles run at a time; absent where the reference has none. */
  workersFlag?: string;
  /** What it may do beyond what all share: its own objects read and patched, their status written, pods worked on. */
  access: readonly PolicyRule[];
  /** Whether it has work for a pod of another owner, which is held for as long; absent: for none. */
  keepsPod?(pod: Pod): boolean;
  /** What it has to do with the admission of pods; absent: nothing. */
  podAdmission?: PodAdmission;
  /** What controllers of this program ask before they disrupt a pod; absent, and undefined by the gates: nothing. */
  disruptionGuard?(deps: PodGuardDeps): DisruptionGuard | undefined;
}

/** Whose a dependant may be that names no owner, by its name or what it says: `namespace/name` of objects of a kind. */
export interface Claimants {
  /** Of a pod that nobody controls: they may adopt it, or wait for it to go. */
  ofPod(pod: Pod): readonly string[];
  /** Of a claim, whatever happened to it. */
  ofClaim(claim: PersistentVolumeClaim): readonly string[];
  /** Of a claim that is gone: a pod may wait for one that somebody deleted, or for the end of one that was going. */
  ofRemovedClaim(claim: PersistentVolumeClaim): readonly string[];
}

/** A kind that is carried out, whatever the type of its objects is. */
export interface AnyKind extends Controller {
  resource: Resource<KubeObject>;
  /** Whether the gates let it start; absent: always. */
  enabled?(gates: FeatureGates): boolean;
  /** Whether objects are spread over shards by their UID, and their dependants with them; else shard 0 has them all. */
  sharded?: true;
  /** What ControllerRevisions hold of its objects; absent: it has none. */
  revisions?: RevisedPart;
  /** Absent: what names no owner is none of its objects' affair. */
  claimants?: Claimants;
  /** Whether its rollouts have images pulled ahead, where the server has jobs for that; absent: never. */
  pullsImagesAhead?(gates: FeatureGates): boolean;
  /** One object for each node, made by this program: nothing that users asked for is in it. */
  perNode?: true;
  /** Admission of its objects; empty where all that the schema allows is accepted as it is. */
  webhooks: readonly Webhook[];
  /** What node agents do with its objects, beside writing their status; absent: they do not know the kind. */
  agentVerbs?: readonly string[];
}

/** What the folder of a kind exports, and the list in kinds.ts holds. */
export interface Kind<T extends KubeObject> extends AnyKind {
  resource: Resource<T>;
  reconciler(deps: KindDeps<T>): Reconciler<T>;
  /** What is served of its objects at `/metrics`, where a flag asks for it; absent: nothing. */
  metrics?: ObjectMetrics<T>;
  /** Whether a change of the object alone, its generation being equal, needs a new plan. */
  changeMatters(before: T, after: T): boolean;
}

/** A controller without a kind of its own: its keys are those of pods, for example. */
export interface PlainController extends Controller {
  enabled(gates: FeatureGates): boolean;
  reconciler(deps: SharedDeps): PlainReconciler;
}
