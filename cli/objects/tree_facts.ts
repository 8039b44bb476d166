/** What a row of the tree says of an object beside its name. Pure; never throws, whatever the object holds. */
import { type AnyObject, at, conditionOf, countAt, listAt, numberAt, textAt } from "../fields.ts";
import { imagesOf } from "../rollout/revised.ts";

export interface TreeFacts {
  /** Of a workload `2/3`, else the status of its condition `Ready`; empty for what has neither. */
  readonly ready: string;
  /** Why it is not ready. */
  readonly reason: string;
  /** Hash of the revision that a pod has, or that a workload wants. */
  readonly revision: string;
  readonly node: string;
  readonly images: readonly string[];
}

export function treeFacts(object: AnyObject): TreeFacts {
  const { labels = {} } = object.metadata;
  const hash = labels["controller-revision-hash"] ?? labels["pod-template-hash"] ?? "";
  const revision = hash === "" ? (textAt(object, "status", "updateRevision") ?? "") : hash;
  const isRevision = object.kind === "ControllerRevision";
  return {
    ...readinessOf(object),
    revision: isRevision ? "" : revision.slice(revision.lastIndexOf("-") + 1),
    node: textAt(object, "spec", "nodeName") ?? "",
    images: imagesOf(object.kind === "Pod" ? at(object, "spec") : at(object, "spec", "template", "spec")),
  };
}

function readinessOf(object: AnyObject): Pick<TreeFacts, "ready" | "reason"> {
  if (object.kind === "Pod") return podReadiness(object);
  const wanted = wantedOf(object);
  if (wanted !== undefined) return { ready: `${readyOf(object)}/${wanted}`, reason: "" };
  const condition = conditionOf(object, "Ready");
  return { ready: textAt(condition, "status") ?? "", reason: textAt(condition, "reason") ?? "" };
}

/** What a container waits for says more than that it is not ready. */
function podReadiness(pod: AnyObject): Pick<TreeFacts, "ready" | "reason"> {
  const condition = conditionOf(pod, "Ready");
  const ready = textAt(condition, "status") ?? "False";
  if (ready === "True") return { ready, reason: "" };
  const statuses = ["initContainerStatuses", "containerStatuses"].flatMap((list) =>
    listAt(pod, "status", list),
  );
  const waiting = statuses.flatMap((status) => textAt(status, "state", "waiting", "reason") ?? []);
  const said = waiting.find((reason) => reason !== "PodInitializing" && reason !== "ContainerCreating");
  const scheduled = conditionOf(pod, "PodScheduled");
  const unscheduled = textAt(scheduled, "status") === "False" ? textAt(scheduled, "reason") : undefined;
  return { ready, reason: said ?? unscheduled ?? textAt(condition, "reason") ?? waiting[0] ?? "" };
}

/** Undefined for what has no pods. */
function wantedOf({
  spec,
  status,
  kind,
}: AnyObject & { spec?: unknown; status?: unknown }): number | undefined {
  if (kind === "Job") return numberAt(spec, "completions") ?? 1;
  return (
    numberAt(spec, "replicas") ?? numberAt(status, "desiredNumberScheduled") ?? numberAt(status, "desired")
  );
}

const readyCounts = ["readyReplicas", "numberReady", "succeeded"];

function readyOf(object: AnyObject): number {
  const status = at(object, "status");
  const name = readyCounts.find((each) => numberAt(status, each) !== undefined);
  return name === undefined ? 0 : countAt(status, name);
}
