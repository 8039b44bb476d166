/** What a pass over a WorkloadSpread does. Pure. Spec: workloadspread 4.3 to 4.6. */
import {
  ignorePatchOfExistingPodsAnnotation,
  matchedWorkloadSpreadAnnotation,
  type WorkloadSpread,
  type WorkloadSpreadStatus,
  type WorkloadSpreadSubset,
  type WorkloadSpreadSubsetStatus,
} from "../../../crds/index.ts";
import { goJson, isJsonObject, type JsonObject } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { objectAt } from "../../native/json_fields.ts";
import { earliest } from "../../plan/earliest.ts";
import type { ObjectEvent } from "../../plan/effects.ts";
import type { KnownFor } from "../../runtime/known_entries.ts";
import { deletionCostAnnotation, deletionCosts } from "./costs.ts";
import { matchOf } from "./inject.ts";
import {
  type CountedSubset,
  countSubset,
  criticalSeconds,
  isGivenUp,
  untilGivenUp,
  type WorkloadSpreadMember,
} from "./status.ts";
import { versionOf } from "./versions.ts";

export interface WorkloadSpreadInput {
  readonly object: WorkloadSpread;
  /** Wanted pods of the workload; -1 for unknown. */
  readonly size: number;
  /** Pods of the workload that the filter takes, finished and terminating ones included. */
  readonly pods: readonly Pod[];
  /** Subset of each pod that is here without the object's annotation, by UID. */
  readonly adopted: ReadonlyMap<string, string>;
  /** The version that the workload is brought to; undefined while that is not known, or no costs are written. */
  readonly latestVersion: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly knownFor: KnownFor;
}

/** A merge of metadata into a pod. */
export interface PodPatch {
  readonly pod: Pod;
  readonly metadata: JsonObject;
}

/** A pod that goes because no node takes it. */
export interface GivenUp {
  readonly pod: Pod;
  readonly subset: string;
}

export interface SpreadPlan {
  readonly patches: readonly PodPatch[];
  readonly status: WorkloadSpreadStatus;
  readonly events: readonly ObjectEvent[];
  /** To be deleted once the status is stored, which closes their subsets. */
  readonly givenUp: readonly GivenUp[];
  readonly requeueAfterMs: number | undefined;
}

type Groups = ReadonlyMap<string | undefined, readonly WorkloadSpreadMember[]>;

export function planWorkloadSpread(input: WorkloadSpreadInput): SpreadPlan {
  const { object, now, pods } = input;
  const versions = groupByVersion(input);
  const before = object.status?.versionedSubsetStatuses ?? {};
  const versioned = new Map<string, readonly CountedSubset[]>();
  for (const version of new Set([...Object.keys(before), ...versions.keys()])) {
    const stored = Object.hasOwn(before, version) ? before[version] : undefined;
    const counted = countAll(input, versions.get(version) ?? new Map(), stored);
    if (versions.has(version) || counted.some(isExpecting)) versioned.set(version, counted);
  }
  const total = countAll(input, merged(versions.values()), object.status?.subsetStatuses);
  const counted = [...[...versioned.values()].flat(), ...total];
  const seconds = criticalSeconds(object);
  const waiting = seconds === undefined ? [] : pods.map((pod) => untilGivenUp(pod, seconds, now));
  return {
    patches: patchesOf(input, versions),
    status: {
      observedGeneration: object.metadata.generation ?? 0,
      subsetStatuses: total.map(({ status }) => status),
      ...(versioned.size === 0 ? {} : { versionedSubsetStatuses: statusesOf(versioned) }),
    },
    events: eventsOf(object, [...versioned.values()].flat(), total),
    givenUp: seconds === undefined ? [] : givenUpIn(object, versions, seconds, now),
    requeueAfterMs: earliest([
      ...counted.map(({ changesInMs }) => changesInMs),
      ...waiting.filter((ms) => ms !== undefined && ms > 0),
    ]),
  };
}

function isExpecting({ status }: CountedSubset): boolean {
  return status.creatingPods !== undefined || status.deletingPods !== undefined;
}

function statusesOf(
  versioned: ReadonlyMap<string, readonly CountedSubset[]>,
): Record<string, WorkloadSpreadSubsetStatus[]> {
  const lists = [...versioned].map(([version, counted]) => [version, counted.map(({ status }) => status)]);
  return Object.fromEntries(lists);
}

function countAll(
  { object, size, now, knownFor }: WorkloadSpreadInput,
  groups: Groups,
  stored: readonly WorkloadSpreadSubsetStatus[] | undefined,
): CountedSubset[] {
  return object.spec.subsets.map((subset) => {
    const before = stored?.find(({ name }) => name === subset.name);
    const members = groups.get(subset.name) ?? [];
    return countSubset({ spread: object, subset, before, members, size, now, knownFor });
  });
}

/** By version, then by subset; pods of none under undefined. */
function groupByVersion({
  object,
  pods,
  adopted,
}: WorkloadSpreadInput): Map<string, Map<string | undefined, WorkloadSpreadMember[]>> {
  const names = new Set(object.spec.subsets.map(({ name }) => name));
  const versions = new Map<string, Map<string | undefined, WorkloadSpreadMember[]>>();
  for (const pod of pods) {
    const match = ownMatch(object, pod);
    const named = match?.subset ?? adopted.get(pod.uid);
    const subset = named !== undefined && names.has(named) ? named : undefined;
    const version = versionOf(pod.controller?.kind ?? "", pod.labels);
    const groups = versions.get(version) ?? new Map<string | undefined, WorkloadSpreadMember[]>();
    versions.set(version, groups);
    const members = groups.get(subset) ?? [];
    groups.set(subset, members);
    members.push({ pod, key: match?.uid ?? pod.name });
  }
  return versions;
}

/** What the pod's annotation says, if it is about this object. */
export function ownMatch({ metadata }: WorkloadSpread, pod: Pick<Pod, "annotations">) {
  const match = matchOf(pod.annotations[matchedWorkloadSpreadAnnotation]);
  return match?.name === metadata.name ? match : undefined;
}

function merged(versions: Iterable<Groups>): Groups {
  const all = new Map<string | undefined, readonly WorkloadSpreadMember[]>();
  for (const groups of versions) {
    for (const [subset, members] of groups) all.set(subset, [...(all.get(subset) ?? []), ...members]);
  }
  return all;
}

/** Only what differs. */
function patchesOf(
  { object, adopted, size, latestVersion }: WorkloadSpreadInput,
  versions: ReadonlyMap<string, Groups>,
): PodPatch[] {
  const { subsets } = object.spec;
  const patches: PodPatch[] = [];
  for (const [version, groups] of versions) {
    const members = new Map(
      [...groups].map(([subset, list]) => [subset, list.map(({ pod }) => pod)] as const),
    );
    const isLatest = latestVersion === version;
    const costs =
      latestVersion === undefined
        ? new Map<string, number>()
        : deletionCosts({ subsets, members, size, isLatest });
    for (const pod of [...members.values()].flat()) {
      const cost = costs.get(pod.uid);
      const isCostly = cost !== undefined && pod.annotations[deletionCostAnnotation] !== String(cost);
      const subset = subsets.find(({ name }) => name === adopted.get(pod.uid));
      const adoption = subset === undefined ? {} : adoptionOf(object, subset);
      if (!isCostly && subset === undefined) continue;
      const annotations = {
        ...objectAt(adoption, "annotations"),
        ...(isCostly ? { [deletionCostAnnotation]: String(cost) } : {}),
      };
      patches.push({ pod, metadata: { ...adoption, annotations } });
    }
  }
  return patches;
}

/** What a pod gets that was there before: never anything of its spec. */
function adoptionOf({ metadata }: WorkloadSpread, { name, patch }: WorkloadSpreadSubset): JsonObject {
  const isIgnored = metadata.annotations?.[ignorePatchOfExistingPodsAnnotation]?.toLowerCase() === "true";
  const given = isJsonObject(patch) && !isIgnored ? objectAt(patch, "metadata") : {};
  const { labels, annotations, finalizers } = given;
  const match = goJson({ name: metadata.name ?? "", subset: name });
  return {
    ...(labels === undefined ? {} : { labels }),
    ...(finalizers === undefined ? {} : { finalizers }),
    annotations: {
      ...(isJsonObject(annotations) ? annotations : {}),
      [matchedWorkloadSpreadAnnotation]: match,
    },
  };
}

function givenUpIn(
  { spec }: WorkloadSpread,
  versions: ReadonlyMap<string, Groups>,
  seconds: number,
  now: number,
): GivenUp[] {
  // Nobody comes after the last one.
  const open = spec.subsets.slice(0, -1).map(({ name }) => name);
  return [...versions.values()].flatMap((groups) =>
    open.flatMap((subset) =>
      (groups.get(subset) ?? [])
        .filter(({ pod }) => isGivenUp(pod, seconds, now))
        .map(({ pod }) => ({ pod, subset })),
    ),
  );
}

function eventsOf(
  { metadata }: WorkloadSpread,
  versioned: readonly CountedSubset[],
  total: readonly CountedSubset[],
): ObjectEvent[] {
  const { namespace = "", name = "" } = metadata;
  const warning = (reason: string, pod: string, what: string): ObjectEvent => ({
    type: "Warning",
    reason,
    message: `Pod ${namespace}/${pod} was expected to be ${what} but it wasn't`,
  });
  const recovered = new Set(
    [...versioned, ...total].filter(({ isRecovered }) => isRecovered).map(({ status }) => status.name),
  );
  return [
    ...versioned.flatMap(({ notCreated }) =>
      notCreated.map((key) => warning("CreatePodFailed", key, "created")),
    ),
    ...versioned.flatMap(({ notDeleted }) =>
      notDeleted.map((pod) => warning("DeletePodFailed", pod, "deleted")),
    ),
    ...[...recovered].map(
      (subset): ObjectEvent => ({
        type: "Normal",
        reason: "RecoverSchedulable",
        message: `Subset ${subset} of WorkloadSpread ${namespace}/${name} is recovered from unschedulable to schedulable`,
      }),
    ),
  ];
}
