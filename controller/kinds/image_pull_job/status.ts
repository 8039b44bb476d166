/** What an ImagePullJob reports. Pure. Spec: images P3, P4.8. */
import type { ImagePullJobStatus } from "../../../crds/index.ts";
import { formatTime } from "../../../kube/core/index.ts";
import type { NodeCounts } from "./nodes.ts";

/** `begun`: nodes that it is assigned to in the same pass. */
export function runningStatus(nodes: NodeCounts, startTime: string, begun: number): ImagePullJobStatus {
  const { desired, succeeded, failed } = nodes;
  const active = nodes.active + begun;
  const share = ((succeeded + failed) * 100) / desired;
  const message =
    desired === 0 ? "job is running, no progress" : `job is running, progress ${toTenths(share)}%`;
  return { startTime, desired, active, succeeded, failed, ...namesOf(nodes.failedNodes()), message };
}

/** As the API prints it: of two tenths that are equally near the even one, 6.2 for 6.25. */
function toTenths(share: number): string {
  return share % 1 === 0.25 ? `${Math.floor(share)}.2` : share.toFixed(1);
}

/** `late`: what was not finished counts as failed; pulls that run are not recalled. */
export function finishedStatus(
  nodes: NodeCounts,
  startTime: string,
  now: number,
  how: "completed" | "late",
): ImagePullJobStatus {
  const { desired, succeeded } = nodes;
  const late = how === "late" ? nodes.unfinishedNodes() : [];
  const failedNodes = [...nodes.failedNodes(), ...late].sort((a, b) => (a < b ? -1 : 1));
  return {
    startTime,
    completionTime: formatTime(now),
    desired,
    active: 0,
    succeeded,
    failed: desired - succeeded,
    ...namesOf(failedNodes),
    message: how === "late" ? "job exceeds activeDeadlineSeconds" : "job has completed",
  };
}

function namesOf(failedNodes: string[]): { failedNodes?: string[] } {
  return failedNodes.length === 0 ? {} : { failedNodes };
}
