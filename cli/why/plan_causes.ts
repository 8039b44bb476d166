/** What the controller's plan waits for, as causes: what becomes of it by itself, and which command comes next. */
import type { Waiting } from "../../controller/index.ts";
import { inNamespace, objectName } from "../resource_types.ts";
import { resumeCommand } from "../rollout/pause.ts";
import type { Target } from "../target.ts";
import type { Cause, Outlook } from "./causes/cause.ts";
import type { Forecast } from "./forecast.ts";
import { patchCommand, patchFieldCommand, showCommand } from "./patch_command.ts";

/** Reasons of plans that time alone does not end; all others are under way. */
const outlooks: ReadonlyMap<string, Outlook> = new Map([
  ...reasons("stuck", "Paused OnDelete InPlaceOnly SelectingAll NameTaken NoOrdinal NotUpgradable"),
  ...reasons("stuck", "NotUpgradablePods NoNode FailedPod Malformed NamespaceNotExists ConflictOccurred"),
  ...reasons("stuck", "Allocation InjectionRevision NoTargets NoTarget TooManyMissedTimes NeverDue"),
  ...reasons("held", "Partition Budget ScaleLimit Burst OrderedReady Parallelism NodeSelector Surge"),
  ...reasons("held", "PartitionedScaling Selector RestartLimit NewNode NotUpdate PodMetadata Subset"),
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

const ofPods = new Set("Budget Terminating Hook InPlace Grace NotReady OrderedReady Leaving".split(" "));

/** What shows more of a reason, or ends it. */
function nextCommand({ reason, pods = [], podPatch }: Waiting, target: Target): string {
  const ending = endingCommand(reason, target);
  if (ending !== undefined) return ending;
  const [pod = ""] = pods;
  if (podPatch !== undefined)
    return patchCommand({ name: `pod/${pod}`, namespace: target.ref.namespace }, podPatch);
  if (ofPods.has(reason) && pod !== "") return `kubectl describe pod ${namedPod(pod, target)}`;
  if (reason === "OnDelete" && pod !== "") return `kubectl delete pod ${namedPod(pod, target)}`;
  return outlooks.has(reason) ? showCommand(namedOf(target)) : `kubectl describe ${namedAsOf(target)}`;
}

/** Where one field or flag is what holds the rollout back. */
function endingCommand(reason: string, target: Target): string | undefined {
  const strategy = ["spec", "updateStrategy"];
  switch (reason) {
    case "Paused":
      return resumeCommand(target);
    case "Partition":
    case "PartitionedScaling":
      return `refit rollout promote ${namedAsOf(target)}`;
    case "Selector":
      return patchFieldCommand(namedOf(target), [...strategy, "selector"], null);
    case "NodeSelector":
      return patchFieldCommand(namedOf(target), [...strategy, "rollingUpdate", "selector"], null);
    case "InPlaceOnly":
      return patchFieldCommand(namedOf(target), policyPath(target), "InPlaceIfPossible");
    default:
      return undefined;
  }
}

function policyPath({ type }: Target): readonly string[] {
  const isOldCloneSet = type.kind === "CloneSet" && type.version === "v1alpha1";
  return ["spec", "updateStrategy", ...(isOldCloneSet ? ["type"] : ["rollingUpdate", "podUpdatePolicy"])];
}

const namedOf = ({ type, ref }: Target) => ({ name: objectName(type, ref.name), namespace: ref.namespace });

/** `cloneset.apps.kruise.io/web -n shop`. */
const namedAsOf = ({ type, ref }: Target): string =>
  `${objectName(type, ref.name)}${inNamespace(ref.namespace)}`;

/** Plans of objects without a namespace name pods with theirs. */
function namedPod(pod: string, { ref }: Target): string {
  const [namespace = "", name] = pod.split("/");
  return name === undefined ? `${pod}${inNamespace(ref.namespace)}` : `${name} -n ${namespace}`;
}
