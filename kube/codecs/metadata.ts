/** What all projections of core kinds take from ObjectMeta. */
import { type core, WireError } from "../../proto/core/index.ts";
import type { Labels, OwnerReference } from "../core/types.ts";
import type { PodCondition } from "../pod.ts";

export interface Metadata {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly owners: readonly OwnerReference[];
  readonly finalizers: readonly string[];
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly deletionAt: number | undefined;
}

export function metadataOf(meta: core.ObjectMeta | undefined): Metadata {
  if (!meta) throw new WireError("an object without metadata");
  return {
    namespace: meta.namespace,
    name: meta.name,
    uid: meta.uid,
    resourceVersion: meta.resourceVersion,
    generation: meta.generation,
    labels: { ...meta.labels },
    annotations: { ...meta.annotations },
    owners: meta.ownerReferences,
    finalizers: meta.finalizers,
    createdAt: timeOf(meta.creationTimestamp) ?? 0,
    deletionAt: timeOf(meta.deletionTimestamp),
  };
}

/** Milliseconds; undefined when the field was not sent. */
export function timeOf(time: core.Time | undefined): number | undefined {
  return time && time.seconds * 1000 + Math.floor(time.nanos / 1_000_000);
}

export function quantities(map: Readonly<Record<string, core.Quantity>>): Record<string, string> {
  const amounts: Record<string, string> = {};
  for (const [name, quantity] of Object.entries(map)) amounts[name] = quantity.string;
  return amounts;
}

/** A condition of a core kind; `lastTransitionAt` in milliseconds, 0 when unknown. */
export type CoreCondition = PodCondition;

export function conditionOf(condition: core.PodCondition | core.NodeCondition): CoreCondition {
  return {
    type: condition.type,
    status: condition.status,
    reason: condition.reason,
    message: condition.message,
    lastTransitionAt: timeOf(condition.lastTransitionTime) ?? 0,
  };
}
