/** What there is in a small world of one WorkloadSpread. */
import type { SpreadPlan } from "../../controller/kinds/workload_spread/plan.ts";
import { exactStatus } from "../../controller/runtime/exact_status.ts";
import type { WorkloadSpread, WorkloadSpreadSpec } from "../../crds/index.ts";
import type { Pod } from "../../kube/index.ts";
import type { Answer, Process } from "./asked_spread.ts";
import { type Cluster, listsOf, type SpreadWrite } from "./spread_cluster.ts";

export interface SpreadStage {
  readonly name: string;
  readonly change: (cluster: Cluster) => Partial<Cluster>;
}

export interface SpreadScenario {
  readonly name: string;
  readonly spec: WorkloadSpreadSpec;
  /** Pods that are wanted at first. */
  readonly size: number;
  readonly stages?: readonly SpreadStage[];
  /** Pods that are there at first: subset of each, undefined for one that was never placed. */
  readonly pods?: readonly (string | undefined)[];
  /** Of each subset at the end. */
  readonly fills?: readonly number[];
  /** The controller has yet to look at the spread. */
  readonly isNew?: true;
  /** The server gives new pods their names, after all webhooks. */
  readonly isNameless?: true;
  /** A pod that is made for another one has its name. */
  readonly keepsNames?: true;
  /** Pods that people evict. */
  readonly evictions?: number;
  /** Creations and evictions that somebody else refuses after they were let pass. */
  readonly losses?: number;
  /** Pods that end by themselves. */
  readonly ends?: number;
  /** Zones in which no pod fits. */
  readonly full?: readonly string[];
  /** The clocks of those who answer are ahead of the controller's by so many milliseconds. */
  readonly aheadMs?: number;
}

export interface Request {
  readonly operation: "CREATE" | "DELETE";
  readonly by: "workload" | "people" | "controller";
  readonly pod: Pod;
  /** The process that is asked; undefined: it was let pass. */
  readonly at: number | undefined;
  /** Where a new pod may run. */
  readonly zones: readonly string[];
}

export interface Pass {
  readonly writes: readonly SpreadWrite[];
  readonly deletions: readonly Pod[];
}

export interface State {
  readonly cluster: Cluster;
  /** What the controller has seen of it, beside the spread, which its process has. */
  readonly seen: Pick<Cluster, "pods" | "workload">;
  readonly processes: readonly Process[];
  readonly requests: readonly Request[];
  /** What is left to be done of it: first the status. */
  readonly pass: Pass | undefined;
  /** Sent by processes that died. */
  readonly late: readonly SpreadWrite[];
  /** Since when the controller knows each entry of the ledgers. */
  readonly known: Readonly<Record<string, number>>;
  readonly now: number;
  readonly stage: number;
  readonly evictions: number;
  readonly losses: number;
  readonly ends: number;
  /** Pods that were named. */
  readonly named: number;
  readonly mishaps: number;
}

export function passOf(object: WorkloadSpread, { status, patches, givenUp }: SpreadPlan): Pass {
  const { uid, resourceVersion } = object.metadata;
  const patch = exactStatus(object, status);
  const isChanged = Object.keys(patch.status).length > 0;
  return {
    writes: [
      ...(isChanged
        ? [
            {
              to: "status",
              version: resourceVersion,
              patch: { metadata: { uid, resourceVersion }, status: patch.status },
            } as const,
          ]
        : []),
      ...patches.map(({ pod, metadata }) => ({ to: "pod", pod, metadata }) as const),
    ],
    deletions: givenUp.map(({ pod }) => pod),
  };
}

/** Pods are written once the status is stored. */
export function inFlight(writes: readonly SpreadWrite[]): readonly SpreadWrite[] {
  return writes[0]?.to === "status" ? writes.slice(0, 1) : writes;
}

export function targetOf(write: SpreadWrite): string {
  return write.to === "status" ? "the status" : `the metadata of ${write.pod.name}`;
}

/** Entries of the ledgers, as name and date. */
export function entriesOf(spread: WorkloadSpread): string[] {
  return listsOf(spread).flatMap(([, rows]) =>
    rows.flatMap(({ creatingPods, deletingPods }) =>
      Object.entries({ ...creatingPods, ...deletingPods }).map((entry) => entry.join(" ")),
    ),
  );
}

export function namesOf({ cluster, seen }: State): string[] {
  return [...new Set([...Object.keys(cluster.pods), ...Object.keys(seen.pods)])];
}

/** Placed, and not there yet. */
export function comingIn({ requests }: State): Pod[] {
  return requests.flatMap(({ operation, at, pod }) =>
    operation === "CREATE" && at === undefined ? pod : [],
  );
}

export function isAsked({ requests }: State, { name }: Pod): boolean {
  return requests.some(({ pod }) => pod.name === name);
}

export function without(state: State, request: Request): State {
  return { ...state, requests: state.requests.filter((one) => one !== request) };
}

/** People try again. */
export function undone(state: State, request: Request): State {
  const evictions = state.evictions + (request.by === "people" ? 1 : 0);
  return { ...without(state, request), evictions };
}

export function answered(state: State, { operation, pod, zones, isAllowed }: Answer): State {
  const request = state.requests.find(
    (one) => one.operation === operation && one.pod.uid === pod.uid && one.at !== undefined,
  );
  if (request === undefined) return state;
  if (!isAllowed) return undone(state, request);
  const passed: Request = { ...request, pod, zones, at: undefined };
  return { ...state, requests: state.requests.map((one) => (one === request ? passed : one)) };
}

export function isVersion(a: WorkloadSpread, b: WorkloadSpread): boolean {
  return a.metadata.resourceVersion === b.metadata.resourceVersion;
}
