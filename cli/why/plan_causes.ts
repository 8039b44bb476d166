/** What the controller's plan waits for, as causes: what becomes of it by itself, and which command comes next. */
import type { Waiting } from "../../controller/index.ts";
import { apiVersionOf, inNamespace, objectName } from "../resource_types.ts";
import { workloadNamed } from "../rollout/workloads.ts";
import type { Target } from "../target.ts";
import type { Cause, Outlook } from "./causes/cause.ts";
import type { Forecast } from "./forecast.ts";

/** Reasons of plans that time alone does not end; all others are under way. */
const outlooks: ReadonlyMap<string, Outlook> = new Map([
  ...reasons("stuck", "Paused OnDelete InPlaceOnly SelectingAll NameTaken NoOrdinal NotUpgradable"),
  ...reasons("stuck", "NotUpgradablePods NoNode FailedPod Malformed NamespaceNotExists ConflictOccurred"),
  ...reasons("stuck", "Allocation InjectionRevision NoTargets NoTarget TooManyMissedTimes"),
  ...reasons("held", "Partition Budget ScaleLimit Burst OrderedReady Parallelism NodeSelector Surge"),
  ...reasons("held", "PartitionedScaling Selector RestartLimit NewNode Schedule PodMetadata Subset"),
]);

function reasons(outlook: Outlook, text: string): [string, Outlook][] {
  return text.split(" ").map((reason) => [reason, outlook]);
}

export function planCauses(waiting: Forecast["waiting"], target: Target): Cause[] {
  return waiting.map((entry) => ({
    ...entry,
    outlook: outlooks.get(entry.reason) ?? "moving",
    next: entry.next ?? nextCommand(entry, target),
  }));
}

export function resumeCommand(target: Target): string {
  const { type, ref } = target;
  const workload = workloadNamed(type);
  const paused = workload?.pausedPath?.(apiVersionOf(type));
  if (paused !== undefined && !workload?.pausedByUsers)
    return `refit rollout resume ${objectName(type, ref.name)}${inNamespace(ref.namespace)}`;
  return patchCommand(target, paused ?? ["spec", "paused"], false);
}

/** For one field of an object, to be pasted. */
function patchCommand({ type, ref }: Target, path: readonly string[], value: number | boolean): string {
  const patch = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  const name = objectName(type, ref.name);
  return `kubectl patch ${name}${inNamespace(ref.namespace)} --type merge -p '${JSON.stringify(patch)}'`;
}

/** The field that keeps pods at an old revision stands beside the one that pauses. */
function partitionPath({ type }: Target): readonly string[] | undefined {
  const paused = workloadNamed(type)?.pausedPath?.(apiVersionOf(type));
  return paused && [...paused.slice(0, -1), "partition"];
}

const ofPods = new Set("Budget Terminating Hook InPlace Grace NotReady OrderedReady Leaving".split(" "));

function nextCommand({ reason, pods = [] }: Waiting, target: Target): string {
  const { type, ref } = target;
  const name = objectName(type, ref.name);
  if (reason === "Paused") return resumeCommand(target);
  const partition = reason === "Partition" ? partitionPath(target) : undefined;
  if (partition !== undefined) return patchCommand(target, partition, 0);
  const [pod = ""] = pods;
  const [namespace = "", podName] = pod.split("/");
  if (ofPods.has(reason) && podName !== undefined) return `kubectl describe pod ${podName} -n ${namespace}`;
  if (ofPods.has(reason) && pod !== "") return `kubectl describe pod ${pod}${inNamespace(ref.namespace)}`;
  if (outlooks.has(reason)) return `kubectl edit ${name}${inNamespace(ref.namespace)}`;
  return `kubectl describe ${name}${inNamespace(ref.namespace)}`;
}
