/** What the controller writes into the status of a ContainerRecreateRequest. Pure. Spec: containers 1.4, rules 4, 11, 12. */
import {
  type ContainerRecreateRequest,
  type ContainerRecreateRequestStatus,
  RECREATE_GRACE_CONDITION,
  RECREATE_GRACE_MESSAGE,
} from "../../../crds/index.ts";
import { formatTime, jsonEqual } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";

type Status = ContainerRecreateRequestStatus;
type Snapshot = NonNullable<Status["containerStatusSnapshot"]>;

/** The end of a request that its agent does not end; states stay as they are. */
export function completedStatus(message: string, now: number): Partial<Status> {
  return { phase: "Completed", completionTime: formatTime(now), message };
}

/** The conditions with the one that starts the grace; undefined when it is there: its time never moves. */
export function withGraceCondition(
  { status }: ContainerRecreateRequest,
  now: number,
): Status["conditions"] | undefined {
  const conditions = status?.conditions ?? [];
  if (conditions.some(({ type, status: value }) => type === RECREATE_GRACE_CONDITION && value === "True")) {
    return undefined;
  }
  return [
    ...conditions.filter(({ type }) => type !== RECREATE_GRACE_CONDITION),
    {
      type: RECREATE_GRACE_CONDITION,
      status: "True",
      reason: RECREATE_GRACE_CONDITION,
      message: RECREATE_GRACE_MESSAGE,
      lastTransitionTime: formatTime(now),
    },
  ];
}

/**
 * The listed containers that were replaced since the request, as the pod's status has them. A container counts by its
 * id and restart count: the time of its start has whole seconds only (history: false alarms). Undefined when there is
 * nothing new to tell; an empty list never takes the place of an earlier one.
 */
export function changedSnapshot({ spec, status }: ContainerRecreateRequest, pod: Pod): Snapshot | undefined {
  const snapshot: Snapshot = [];
  for (const { name, statusContext } of spec.containers) {
    const now = pod.containerStatuses.find((one) => one.name === name);
    if (now === undefined || now.containerID === "") continue;
    const { containerID = "", restartCount = 0 } = statusContext ?? {};
    // A late watch still shows what ran before the container of the request.
    if (now.restartCount < restartCount) continue;
    if (now.containerID === containerID && now.restartCount === restartCount) continue;
    snapshot.push({
      name,
      ready: now.ready,
      restartCount: now.restartCount,
      containerID: now.containerID,
    });
  }
  return snapshot.length === 0 || jsonEqual(snapshot, status?.containerStatusSnapshot) ? undefined : snapshot;
}
