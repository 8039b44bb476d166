/** What is served of DaemonSets at `/metrics`. */
import type { DaemonSet } from "../../../crds/index.ts";
import {
  conditions,
  count,
  created,
  gauge,
  generation,
  labels,
  type ObjectMetrics,
  observedGeneration,
  partition,
  strategyType,
} from "../../runtime/object_metrics.ts";
import { daemonSetRolloutOf } from "./strategy.ts";

const rolloutOf = (set: DaemonSet) => daemonSetRolloutOf(set, set.status?.desiredNumberScheduled ?? 0);

export const daemonSetMetrics: ObjectMetrics<DaemonSet> = {
  table: [
    created,
    generation,
    labels,
    gauge(
      "spec_strategy_rollingupdate_max_surge",
      "Nodes that may run an old and a new pod at the same time.",
      (set) => rolloutOf(set).maxSurge,
    ),
    partition(
      ({ spec }) => spec.updateStrategy?.rollingUpdate?.partition,
      (set) => rolloutOf(set).partition,
    ),
    strategyType(({ spec }) => spec.updateStrategy?.type ?? "RollingUpdate"),
    observedGeneration(),
    count(
      "status_current_number_scheduled",
      "Nodes that run the pod and should.",
      ({ currentNumberScheduled }) => currentNumberScheduled,
    ),
    count(
      "status_desired_number_scheduled",
      "Nodes that should run the pod.",
      ({ desiredNumberScheduled }) => desiredNumberScheduled,
    ),
    count(
      "status_number_available",
      "Nodes whose pod is available.",
      ({ numberAvailable }) => numberAvailable,
    ),
    count(
      "status_number_misscheduled",
      "Nodes that run the pod and should not.",
      ({ numberMisscheduled }) => numberMisscheduled,
    ),
    count("status_number_ready", "Nodes whose pod is ready.", ({ numberReady }) => numberReady),
    count(
      "status_number_unavailable",
      "Nodes that should have an available pod and have none.",
      ({ numberUnavailable }) => numberUnavailable,
    ),
    count(
      "status_updated_number_scheduled",
      "Nodes that run the pod at the update revision.",
      ({ updatedNumberScheduled }) => updatedNumberScheduled,
    ),
    conditions,
  ],
  toUpdate: (set) => {
    const { desired, rolling, paused, partition: kept } = rolloutOf(set);
    if (!rolling || paused) return 0;
    // How many of the nodes that it takes are up to date, the status does not say.
    if (set.spec.updateStrategy?.rollingUpdate?.selector) return undefined;
    return Math.max(0, desired - kept - (set.status?.updatedNumberScheduled ?? 0));
  },
};
