/** What is served of ContainerRecreateRequests at `/metrics`. */
import type { ContainerRecreateRequest, ContainerRecreateRequestStatus } from "../../../crds/index.ts";
import {
  count,
  created,
  labels,
  type ObjectMetric,
  type ObjectMetrics,
} from "../../runtime/object_metrics.ts";

type Phase = ContainerRecreateRequestStatus["phase"];

function containersIn(phase: Phase): ObjectMetric<ContainerRecreateRequest> {
  return count(
    `containers_${phase.toLowerCase()}`,
    `Containers of the request in phase ${phase}.`,
    ({ containerRecreateStates }) =>
      (containerRecreateStates ?? []).filter((container) => container.phase === phase).length,
  );
}

function isIn(phase: Phase): ObjectMetric<ContainerRecreateRequest> {
  return count(phase.toLowerCase(), `1 while the request is in phase ${phase}.`, (status) =>
    status.phase === phase ? 1 : 0,
  );
}

export const containerRecreateRequestMetrics: ObjectMetrics<ContainerRecreateRequest> = {
  table: [
    created,
    labels,
    isIn("Pending"),
    isIn("Recreating"),
    isIn("Completed"),
    containersIn("Pending"),
    containersIn("Recreating"),
    containersIn("Succeeded"),
    containersIn("Failed"),
  ],
};
