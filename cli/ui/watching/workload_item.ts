/** A workload of any kind as the page lists it, by its status alone. */
import { newestSidecarsHash } from "../../../crds/index.ts";
import { scaledValue } from "../../../kube/core/index.ts";
import { type AnyObject, at, conditionOf, intOrStringAt, listAt, textAt, textsAt } from "../../fields.ts";
import { inNamespace, type ResourceType } from "../../resource_types.ts";
import type { Partition } from "../../rollout/partition.ts";
import { type PodCounts, podCounts } from "../../rollout/pod_counts.ts";
import { partitionsOf, pausedPathOf, workloadNamed } from "../../rollout/workloads.ts";
import { shownText } from "../../why/causes/shown_text.ts";
import type { WorkloadItem } from "../shared/items.ts";

export function workloadItem(type: ResourceType, object: AnyObject): WorkloadItem {
  const { name = "", namespace = "" } = object.metadata;
  const workload = workloadNamed(type);
  const progress = workload?.progress(object);
  const counts = podCounts(object);
  const allowed = allowedOf(type, object, counts.desired);
  const paused = pausedPathOf(type, object.apiVersion);
  const isJob = workload === undefined;
  const isDone = progress === undefined ? hasEnded(object) : progress.state === "done";
  return {
    is: "workload",
    kind: type.kind,
    group: type.group,
    namespace,
    name,
    // The last: the first of a StatefulSet of this API is taken for the built-in one.
    word: `${type.shortNames.at(-1) ?? type.singular}/${name}${inNamespace(namespace)}`,
    labels: labelsOf(object),
    ...counts,
    isJob,
    partition: keptBack((workload && partitionsOf(workload, object)) ?? []),
    ...(allowed === undefined ? {} : { allowed }),
    isPaused: paused !== undefined && at(object, ...paused) === true,
    ...revisionOf(type, object),
    state: isDone && (isJob || isAvailable(counts)) ? "done" : "progressing",
    message: shownText(progress?.message ?? ""),
    reason: "",
    reasonText: "",
  };
}

/** More are not sent: nobody filters by them, and an object may have thousands. */
const mostLabels = 64;

function labelsOf(object: AnyObject): Record<string, string> {
  return Object.fromEntries(Object.entries(textsAt(object, "metadata", "labels")).slice(0, mostLabels));
}

/** `web-6b7f9` is shown as `6b7f9`, as the labels of pods may have it either way. */
export function revisionEnd(name: string): string {
  return name.slice(name.lastIndexOf("-") + 1);
}

/** Whether something else owns it, which is listed itself. */
export function isControlled(object: AnyObject): boolean {
  return listAt(object, "metadata", "ownerReferences").some((owner) => at(owner, "controller") === true);
}

function isAvailable({ desired, available }: PodCounts): boolean {
  return available >= desired;
}

function revisionOf({ kind }: ResourceType, object: AnyObject): Pick<WorkloadItem, "revision" | "hash"> {
  const named = (field: string) => revisionEnd(textAt(object, "status", field) ?? "");
  if (kind !== "SidecarSet") return { revision: named("updateRevision") };
  const hash = newestSidecarsHash(object);
  return { revision: named("latestRevision"), ...(hash === "" ? {} : { hash }) };
}

function hasEnded(object: AnyObject): boolean {
  const isComplete = textAt(conditionOf(object, "Complete"), "status") === "True";
  return isComplete || textAt(object, "status", "completionTime") !== undefined;
}

const strategies: readonly (readonly string[])[] = [
  ["spec", "updateStrategy", "rollingUpdate"],
  ["spec", "updateStrategy"],
  ["spec", "strategy", "rollingUpdate"],
];

function ofStrategy(object: AnyObject, name: string) {
  return strategies.map((path) => intOrStringAt(object, ...path, name)).find((value) => value !== undefined);
}

/** Pods that its partitions keep at the old revision. */
function keptBack(partitions: readonly Partition[]): number {
  return partitions.reduce((sum, { kept }) => sum + kept, 0);
}

/** Undefined where the object does not say, or says what no number can be made of. */
function allowedOf({ group }: ResourceType, object: AnyObject, desired: number): number | undefined {
  const value = ofStrategy(object, "maxUnavailable");
  if (value === undefined) return undefined;
  try {
    return scaledValue(value, desired, group !== "apps");
  } catch {
    return undefined;
  }
}
