/** Plans of WorkloadSpreads, by the controller's own function: which subset has how many pods, and where the next one goes. */
import {
  CLOSED_SUBSET_MS,
  controllerOptions,
  deletionCostAnnotation,
  hasSpreadCosts,
  isActivePod,
  listedCluster,
  listSpreadTarget,
  observeWorkloadSpread,
  planWorkloadSpread,
  recordInSpread,
  type SpreadPlan,
  SpreadWhitelist,
  type SpreadWorkload,
  spreadCapOf,
  versionIgnored,
  wholePodResource,
  workloadSpreadInput,
} from "../../controller/index.ts";
import {
  schedulableCondition,
  spreadTargetOf,
  type WorkloadSpread,
  type WorkloadSpreadSubset,
  type WorkloadSpreadSubsetStatus,
  workloadSpread,
} from "../../crds/index.ts";
import { counted, findCondition, formatTime, type JsonObject, timeOf } from "../../kube/core/index.ts";
import { listAll, nodeResource, type Pod, podResource } from "../../kube/index.ts";
import type { ClusterAccess } from "../command.ts";
import { textsAt } from "../fields.ts";
import { inNamespace } from "../resource_types.ts";
import { listed } from "./describe.ts";
import type { Forecast, ForecastRequest } from "./forecast.ts";
import { planner } from "./subject.ts";

export const workloadSpreadPlanner = planner({
  kind: "WorkloadSpread",
  needs: { path: ["spec", "targetRef"], name: "spec.targetRef" },
  read: (object) => workloadSpread.readStored(object),
  async forecast(found, request) {
    const { namespace } = request.access;
    const object = { ...found, metadata: { namespace, ...found.metadata } };
    const planned = await planSpread(request, object);
    if (planned === undefined) return withoutWorkload(object);
    return {
      summary: summaryOf(planned),
      actions: [],
      steps: stepsOf(planned),
      waiting: waitingOf(planned),
      requeueAfterMs: planned.plan.requeueAfterMs,
      notices: noticesOf(planned),
    };
  },
});

/** A WorkloadSpread in its cluster, and what the controller would make of it. */
interface PlannedSpread {
  readonly object: WorkloadSpread;
  readonly workload: SpreadWorkload;
  readonly pods: readonly Pod[];
  /** Subsets of pods that were there before the object, by UID. */
  readonly adopted: ReadonlyMap<string, string>;
  readonly plan: SpreadPlan;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Undefined where there is no such workload. */
async function planSpread(
  { access, host }: ForecastRequest,
  object: WorkloadSpread,
): Promise<PlannedSpread | undefined> {
  const { client } = access;
  const { clock } = host;
  const { namespace = "" } = object.metadata;
  const { systemNamespace } = controllerOptions();
  const whitelist = await new SpreadWhitelist({ client, clock, systemNamespace }).kinds();
  const [workload, found, nodes] = await Promise.all([
    listSpreadTarget(client, object, whitelist),
    listAll(client, podResource, { namespace }),
    listAll(client, nodeResource),
  ]);
  if (workload === undefined) return undefined;
  const reader = { ...listedCluster({ pods: found, nodes }), wholePod: wholePods(access, namespace) };
  const observed = await observeWorkloadSpread(object, workload, reader);
  const now = clock.now();
  // Their dates are all that is known here.
  const knownFor = () => Number.POSITIVE_INFINITY;
  const spread = workloadSpreadInput(object, observed, reader, { now, knownFor });
  return { object, ...observed, pods: spread.pods, plan: planWorkloadSpread(spread), now };
}

/** Reads all of the namespace once the first is asked for: a request for each would be many. */
function wholePods(
  { client }: ClusterAccess,
  namespace: string,
): (pod: Pod) => Promise<JsonObject | undefined> {
  let reading: Promise<Map<string | undefined, JsonObject>> | undefined;
  const read = async () => {
    const whole = await listAll(client, wholePodResource, { namespace });
    return new Map(whole.map((pod) => [pod.metadata.uid, { ...pod }]));
  };
  return async ({ uid }) => {
    reading ??= read();
    return (await reading).get(uid);
  };
}

function targetName(object: WorkloadSpread): string {
  const { kind, name } = spreadTargetOf(object);
  return `${kind} ${name}`;
}

function withoutWorkload(object: WorkloadSpread): Forecast {
  const { group, kind } = spreadTargetOf(object);
  const { namespace } = object.metadata;
  const type = group === "" ? kind : `${kind}.${group}`;
  return {
    summary: `no pods: ${targetName(object)} is not in namespace ${namespace}`,
    actions: [],
    waiting: [
      {
        reason: "NoTarget",
        message: `there is no ${targetName(object)}, or it is being deleted`,
        until: "it is created",
        next: `kubectl get ${type.toLowerCase()}${inNamespace(namespace)}`,
      },
    ],
    requeueAfterMs: undefined,
  };
}

/** `5 of 6 pods of CloneSet web: a 2 of 2, b 3 of any number; 1 in no subset`. */
function summaryOf({ object, workload: { size }, pods, plan }: PlannedSpread): string {
  const active = pods.filter(isActivePod);
  const statuses = plan.status.subsetStatuses ?? [];
  const placed = statuses.reduce((sum, { replicas }) => sum + replicas, 0);
  const wanted = size < 0 ? counted(active.length, "pod") : `${active.length} of ${counted(size, "pod")}`;
  const places = object.spec.subsets.map((subset, index) => {
    const cap = spreadCapOf(subset, size);
    return `${subset.name} ${statuses[index]?.replicas ?? 0}${cap === undefined ? "" : ` of at most ${cap}`}`;
  });
  const outside = active.length - placed;
  return `${wanted} of ${targetName(object)}: ${places.join(", ")}${outside > 0 ? `, ${outside} in no subset` : ""}`;
}

function stepsOf({ adopted, plan }: PlannedSpread): string[] {
  const isAdopted = ({ pod }: SpreadPlan["patches"][number]) => adopted.has(pod.uid);
  const taken = Map.groupBy(plan.patches.filter(isAdopted), ({ pod }) => adopted.get(pod.uid));
  const costs = Map.groupBy(
    plan.patches,
    ({ metadata }) => textsAt(metadata, "annotations")[deletionCostAnnotation],
  );
  const namesOf = (patches: SpreadPlan["patches"]) =>
    `${counted(patches.length, "pod")} (${listed(patches.map(({ pod }) => pod.name))})`;
  return [
    ...[...taken].map(([subset, patches]) => `take into subset ${subset}: ${namesOf(patches)}`),
    ...[...costs].flatMap(([cost, patches]) =>
      cost === undefined ? [] : [`set deletion cost ${cost}: ${namesOf(patches)}`],
    ),
    ...plan.givenUp.map(
      ({ pod, subset }) => `delete pod ${pod.name}, which finds no node in subset ${subset}`,
    ),
    ...plan.events.map(({ reason, message }) => `report ${reason}: ${message}`),
  ];
}

function waitingOf({ object, workload, plan }: PlannedSpread): Forecast["waiting"] {
  const statuses = Object.values(plan.status.versionedSubsetStatuses ?? {}).flat();
  const keysOf = (of: (status: WorkloadSpreadSubsetStatus) => object | undefined) =>
    statuses.flatMap((status) => Object.keys(of(status) ?? {}));
  const admitted = keysOf(({ creatingPods }) => creatingPods);
  const leaving = keysOf(({ deletingPods }) => deletingPods);
  const isWithoutVersion = hasSpreadCosts(object.spec.targetRef.kind) && workload.latestVersion === undefined;
  const waiting: (Forecast["waiting"][number] | undefined)[] = [
    admitted.length === 0
      ? undefined
      : {
          reason: "Admitted",
          message: `${counted(admitted.length, "pod")} had a place at admission and ${admitted.length === 1 ? "is" : "are"} not seen yet`,
          until: "they are seen; after 30 s their places are free again",
        },
    leaving.length === 0
      ? undefined
      : {
          reason: "Leaving",
          message: `${counted(leaving.length, "pod")} may go and ${leaving.length === 1 ? "is" : "are"} still there`,
          until: "they are gone; after 15 s they count again",
          pods: leaving,
        },
    isWithoutVersion
      ? {
          reason: "NoVersion",
          message: `deletion costs are not written: ${targetName(object)} has no ReplicaSet of its present template yet`,
          until: "its controller has made one",
        }
      : undefined,
  ];
  return waiting.filter((entry) => entry !== undefined);
}

function noticesOf(planned: PlannedSpread): string[] {
  return [...nextPlace(planned), ...closedSubsets(planned), ...overfullSubsets(planned)];
}

/** Where the next new pod goes. */
function nextPlace(planned: PlannedSpread): string[] {
  const { object, workload, plan, now } = planned;
  const { subsets, targetRef } = object.spec;
  if (targetRef.kind === "StatefulSet") return [ordinalsOf(subsets)];
  const versions = Object.keys(plan.status.versionedSubsetStatuses ?? {});
  const isVersioned = versions.some((version) => version !== versionIgnored);
  const version = workload.latestVersion ?? (isVersioned ? undefined : versionIgnored);
  if (version === undefined) return [];
  const reported = { ...object, status: plan.status };
  const {
    subsets: [subset],
  } = recordInSpread(reported, [{ type: "creation", version, key: "" }], workload.size, now);
  return [
    subset === undefined
      ? "every subset is full or closed: a new pod is created without a place"
      : `a new pod goes to subset ${subset}`,
  ];
}

/** `pods are placed by ordinal: a 0 to 4, b from 5 on`. */
function ordinalsOf(subsets: readonly WorkloadSpreadSubset[]): string {
  let from = 0;
  const ranges = subsets.map((subset) => {
    const cap = spreadCapOf(subset, -1) ?? Number.POSITIVE_INFINITY;
    const start = from;
    from += cap;
    if (cap === 0 || start === Number.POSITIVE_INFINITY) return `${subset.name} none`;
    return from === Number.POSITIVE_INFINITY
      ? `${subset.name} from ${start} on`
      : `${subset.name} ${start} to ${from - 1}`;
  });
  return `pods are placed by ordinal: ${ranges.join(", ")}`;
}

function closedSubsets({ plan }: PlannedSpread): string[] {
  return (plan.status.subsetStatuses ?? []).flatMap(({ name, conditions }) => {
    const condition = findCondition(conditions, schedulableCondition);
    if (condition?.status !== "False") return [];
    const since = timeOf(condition.lastTransitionTime) ?? 0;
    return [
      `subset ${name} takes no new pods until ${formatTime(since + CLOSED_SUBSET_MS)} at least: a pod of it found no node`,
    ];
  });
}

/** Running pods are never moved. */
function overfullSubsets({ object, workload, plan }: PlannedSpread): string[] {
  return object.spec.subsets.flatMap((subset, index) => {
    const over =
      (plan.status.subsetStatuses?.[index]?.replicas ?? 0) -
      (spreadCapOf(subset, workload.size) ?? Number.POSITIVE_INFINITY);
    return over > 0
      ? [
          `subset ${subset.name} has ${counted(over, "pod")} more than its maxReplicas: the surplus goes first when the workload is scaled in`,
        ]
      : [];
  });
}
