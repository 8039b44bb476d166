/** Status of a DaemonSet. Spec: daemonset 3. */
import type { DaemonSet, DaemonSetStatus } from "../../../crds/index.ts";
import type { DaemonView } from "./classify.ts";
import type { UpdateMark } from "./strategy.ts";

interface StatusInput {
  set: DaemonSet;
  mark: UpdateMark;
  collisionCount: number;
  /** The plan was made for this generation and its revision exists. */
  isObserved: boolean;
  pods: Pick<DaemonView, "count">;
}

export function statusOf({ set, mark, collisionCount, isObserved, pods }: StatusInput): DaemonSetStatus {
  const available = pods.count("available");
  const unavailable = pods.count("desired") - available;
  const generation = isObserved ? set.metadata.generation : set.status?.observedGeneration;
  return {
    currentNumberScheduled: pods.count("current"),
    numberMisscheduled: pods.count("misscheduled"),
    desiredNumberScheduled: pods.count("desired"),
    numberReady: pods.count("ready"),
    updatedNumberScheduled: pods.count("updated"),
    ...(available > 0 ? { numberAvailable: available } : {}),
    ...(unavailable > 0 ? { numberUnavailable: unavailable } : {}),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    updateRevision: mark.hash,
    ...(collisionCount > 0 ? { collisionCount } : {}),
  };
}
