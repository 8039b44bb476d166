/** What is served of BroadcastJobs at `/metrics`. */
import { type BroadcastJob, parallelismOf } from "../../../crds/index.ts";
import { ParseError } from "../../../kube/core/index.ts";
import {
  conditions,
  count,
  created,
  gauge,
  generation,
  info,
  labels,
  type ObjectMetrics,
} from "../../runtime/object_metrics.ts";

export const broadcastJobMetrics: ObjectMetrics<BroadcastJob> = {
  table: [
    created,
    generation,
    labels,
    gauge(
      "spec_parallelism",
      "Pods that may run at the same time; absent where their number is not limited.",
      parallelism,
    ),
    gauge(
      "spec_strategy_activedeadline_seconds",
      "Seconds after which the job fails; absent without a deadline.",
      ({ spec }) => spec.completionPolicy?.activeDeadlineSeconds,
    ),
    gauge(
      "spec_strategy_ttl_seconds",
      "Seconds after which the finished job is deleted; absent where it stays.",
      ({ spec }) => spec.completionPolicy?.ttlSecondsAfterFinished,
    ),
    info(
      "spec_strategy_type",
      "When the job is done; always 1.",
      "strategy_type",
      ({ spec }) => spec.completionPolicy?.type ?? "Always",
    ),
    count("status_active", "Pods that run.", ({ active }) => active),
    count("status_desired", "Nodes on which a pod should run.", ({ desired }) => desired),
    count("status_failed", "Pods that failed.", ({ failed }) => failed),
    count("status_succeeded", "Pods that succeeded.", ({ succeeded }) => succeeded),
    conditions,
  ],
};

/** Undefined for any number, and for what cannot be read, which admission refuses. */
function parallelism({ spec, status }: BroadcastJob): number | undefined {
  if (spec.parallelism === undefined || spec.parallelism === null) return undefined;
  try {
    return Math.max(0, parallelismOf(spec.parallelism, status?.desired ?? 0));
  } catch (error) {
    if (error instanceof ParseError) return undefined;
    throw error;
  }
}
