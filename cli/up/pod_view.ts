/** What the try-out shows and compares of a pod. */
import { type AnyObject, conditionOf, countAt, listAt, textAt } from "../fields.ts";

export interface PodView {
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  readonly ip: string;
  readonly image: string;
  /** Hash of the revision that the pod shall have. */
  readonly revision: string;
  readonly state: PodState;
  readonly restarts: number;
}

export type PodState = "pending" | "starting" | "ready" | "updating" | "restarting" | "terminating";

export function podView(pod: AnyObject): PodView {
  const revision = pod.metadata.labels?.["controller-revision-hash"] ?? "";
  const statuses = listAt(pod, "status", "containerStatuses");
  return {
    name: pod.metadata.name ?? "",
    uid: pod.metadata.uid ?? "",
    node: textAt(pod, "spec", "nodeName") ?? "",
    ip: textAt(pod, "status", "podIP") ?? "",
    image: textAt(pod, "spec", "containers", 0, "image") ?? "",
    revision: revision.slice(revision.lastIndexOf("-") + 1),
    state: stateOf(pod),
    restarts: statuses.reduce<number>((sum, status) => sum + countAt(status, "restartCount"), 0),
  };
}

function stateOf(pod: AnyObject): PodState {
  if (pod.metadata.deletionTimestamp !== undefined) return "terminating";
  if (textAt(pod, "spec", "nodeName") === undefined) return "pending";
  if (textAt(conditionOf(pod, "InPlaceUpdateReady"), "status") === "False") {
    const isRunning = listAt(pod, "status", "containerStatuses").every((status) =>
      textAt(status, "state", "running", "startedAt"),
    );
    return isRunning ? "updating" : "restarting";
  }
  return textAt(conditionOf(pod, "Ready"), "status") === "True" ? "ready" : "starting";
}

/** What of the pods before an update is still there after it. */
export interface Kept {
  readonly pods: number;
  readonly names: number;
  readonly uids: number;
  readonly nodes: number;
  readonly ips: number;
  /** Restarts that the update added, over all pods that kept their UID. */
  readonly restarts: number;
}

export function compare(before: readonly PodView[], after: readonly PodView[]): Kept {
  const byName = new Map(after.map((pod) => [pod.name, pod]));
  const kept = { pods: before.length, names: 0, uids: 0, nodes: 0, ips: 0, restarts: 0 };
  for (const old of before) {
    const now = byName.get(old.name);
    if (now === undefined) continue;
    kept.names += 1;
    if (now.node === old.node) kept.nodes += 1;
    if (now.ip === old.ip) kept.ips += 1;
    if (now.uid !== old.uid) continue;
    kept.uids += 1;
    kept.restarts += now.restarts - old.restarts;
  }
  return kept;
}
