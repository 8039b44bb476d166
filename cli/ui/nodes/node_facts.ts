/** What the view of nodes keeps of each object that it watches. Pure. */
import { inPlaceGraceAnnotation, oldInPlaceGraceAnnotation } from "../../../controller/index.ts";
import { RECREATE_NODE_LABEL } from "../../../crds/index.ts";
import { imageTag, timeOf } from "../../../kube/core/index.ts";
import { type AnyObject, at, conditionOf, listAt, textAt } from "../../fields.ts";
import { podView } from "../../up/pod_view.ts";
import type { Cause } from "../../why/causes/cause.ts";
import { timeAt } from "../../why/causes/pod_facts.ts";
import { shownName, shownText } from "../../why/causes/shown_text.ts";
import { nodeImageIn } from "../../why/pull_jobs.ts";
import { firstSyncFailed } from "../../why/status/node_image.ts";
import { type PullTask, pullTasksOf } from "../../why/status/pull_tasks.ts";
import type { RecreateItem } from "../shared/detail_items.ts";
import { zoneLabel } from "../watching/node_zones.ts";
import { problemOf } from "../workload/pod_item.ts";
import { recreateItem } from "../workload/recreate_items.ts";

export interface NodeFacts {
  readonly zone: string;
  /** Undefined where no kubelet has told it yet. */
  readonly isReady: boolean | undefined;
  /** Why it is not ready. */
  readonly said: string;
  readonly readySince: number | undefined;
  readonly isUnschedulable: boolean;
  /** No agent runs there, because no container does. */
  readonly isVirtual: boolean;
}

export function nodeFacts(node: AnyObject): NodeFacts {
  const { labels = {} } = node.metadata;
  const ready = conditionOf(node, "Ready");
  const status = textAt(ready, "status");
  const said = [textAt(ready, "reason"), textAt(ready, "message")].filter((text) => text !== undefined);
  return {
    zone: shownText(labels[zoneLabel] ?? ""),
    isReady: status === undefined ? undefined : status === "True",
    said: shownText(said.join(": ")),
    readySince: timeAt(ready, "lastTransitionTime"),
    isUnschedulable: at(node, "spec", "unschedulable") === true,
    isVirtual: labels["type"] === "virtual-kubelet",
  };
}

/** Of one NodeImage. */
export interface NodePulls {
  /** Those that have not succeeded. */
  readonly tasks: readonly PullTask[];
  readonly syncFailure: Cause | undefined;
  readonly heardAt: number | undefined;
}

export function nodePulls(object: AnyObject): NodePulls {
  const nodeImage = nodeImageIn(object);
  const tasks = nodeImage === undefined ? [] : pullTasksOf(nodeImage);
  const heard = [
    timeOf(nodeImage?.status?.firstSyncStatus?.syncAt),
    ...tasks.flatMap(({ startedAt, endedAt }) => [startedAt, endedAt]),
  ].filter((time) => time !== undefined);
  return {
    tasks: tasks.filter(({ phase }) => phase !== "Succeeded"),
    syncFailure: firstSyncFailed(object),
    heardAt: heard.length === 0 ? undefined : heard.reduce((a, b) => Math.max(a, b)),
  };
}

/** A pod on a node. */
export interface NodePod {
  readonly node: string;
  /** Its update in place, while one goes on. */
  readonly update?: PodUpdate;
}

export interface PodUpdate {
  /** `default/web-1`. */
  readonly pod: string;
  readonly phase: "Updating" | "Restarting" | "Grace period";
  /** Why a container does not run: `ImagePullBackOff`; empty when all is well. */
  readonly problem: string;
  readonly since: number | undefined;
}

/** Undefined for a pod that holds nothing of a node: it is on none, or has ended. */
export function nodePod(pod: AnyObject): NodePod | undefined {
  const { node, state } = podView(pod);
  const phase = textAt(pod, "status", "phase");
  if (node === "" || phase === "Succeeded" || phase === "Failed") return undefined;
  if (state !== "updating" && state !== "restarting") return { node };
  const { annotations = {}, namespace = "", name = "" } = pod.metadata;
  const waits = (annotations[inPlaceGraceAnnotation] ?? annotations[oldInPlaceGraceAnnotation] ?? "") !== "";
  const since = timeAt(conditionOf(pod, "InPlaceUpdateReady"), "lastTransitionTime");
  const doing = state === "updating" ? "Updating" : "Restarting";
  const shown = `${shownName(namespace)}/${shownName(name)}`;
  const problem = shownText(problemOf(pod));
  return { node, update: { pod: shown, phase: waits ? "Grace period" : doing, problem, since } };
}

/** A ContainerRecreateRequest that has not succeeded. */
export interface NodeRequest {
  readonly node: string;
  readonly namespace: string;
  readonly item: RecreateItem;
  readonly isFailed: boolean;
}

export function nodeRequest(request: AnyObject): NodeRequest | undefined {
  const item = recreateItem(request);
  const isFailed = item.phase === "Failed" || item.containers.some(({ phase }) => phase === "Failed");
  const isOver = item.phase === "Completed" || item.phase === "Succeeded";
  const node = request.metadata.labels?.[RECREATE_NODE_LABEL] ?? "";
  if (node === "" || (isOver && !isFailed)) return undefined;
  return { node, namespace: shownName(request.metadata.namespace ?? ""), item, isFailed };
}

/** Pod of an agent. */
export interface AgentFacts {
  readonly node: string;
  readonly isReady: boolean;
  readonly version: string;
}

export function agentFacts(pod: AnyObject): AgentFacts | undefined {
  const node = textAt(pod, "spec", "nodeName") ?? "";
  if (node === "") return undefined;
  const [container] = listAt(pod, "spec", "containers");
  const isReady =
    pod.metadata.deletionTimestamp === undefined && textAt(conditionOf(pod, "Ready"), "status") === "True";
  return { node, isReady, version: shownText(imageTag(textAt(container, "image") ?? "")) };
}
