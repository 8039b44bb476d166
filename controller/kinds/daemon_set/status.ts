/** Status of a DaemonSet. Spec: daemonset 3. */
import type { DaemonSetStatus } from "../../../crds/index.ts";
import type { DaemonSetState } from "./state.ts";

export function statusOf({ observed, mark, collisionCount, write, pods }: DaemonSetState): DaemonSetStatus {
  const { set } = observed;
  const available = pods.count("available");
  const unavailable = pods.count("desired") - available;
  // Until its revision exists, this generation is not what pods are made for.
  const generation = write !== "create" ? set.metadata.generation : set.status?.observedGeneration;
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
