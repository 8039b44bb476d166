/** What the controller's plan waits for, as causes: what becomes of it by itself, and which command comes next. */
import type { Waiting } from "../../controller/index.ts";
import { inNamespace, objectName } from "../resource_types.ts";
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

export function resumeCommand({ type, ref }: Target): string {
  const workload = workloadNamed(type);
  const isByCommand = workload?.pausedPath !== undefined && !workload.pausedByUsers;
  return `${isByCommand ? "refit rollout resume" : "kubectl edit"} ${objectName(type, ref.name)}${inNamespace(ref.namespace)}`;
}

const ofPods = new Set("Budget Terminating Hook InPlace Grace NotReady OrderedReady Leaving".split(" "));

function nextCommand({ reason, pods = [] }: Waiting, { type, ref }: Target): string {
  const name = objectName(type, ref.name);
  if (reason === "Paused") return resumeCommand({ type, ref });
  const [pod = ""] = pods;
  const [namespace = "", podName] = pod.split("/");
  if (ofPods.has(reason) && podName !== undefined) return `kubectl describe pod ${podName} -n ${namespace}`;
  if (ofPods.has(reason) && pod !== "") return `kubectl describe pod ${pod}${inNamespace(ref.namespace)}`;
  if (outlooks.has(reason)) return `kubectl edit ${name}${inNamespace(ref.namespace)}`;
  return `kubectl describe ${name}${inNamespace(ref.namespace)}`;
}
