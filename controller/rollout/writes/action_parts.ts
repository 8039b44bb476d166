/** What actions on all sorts of objects have in common: what an effect is about, and which events report how it ended. */
import { type Pod, podResource } from "../../../kube/index.ts";
import type { EventEffect } from "../../plan/effects.ts";
import { eventTarget } from "../../plan/event_target.ts";
import type { OtherAction, RolloutEffect } from "./actions.ts";

type Write = Extract<RolloutEffect, { type: "create" | "patch" | "delete" }>;

/** Excludes other actions on the object of the write. */
export function otherAction(
  type: OtherAction["type"],
  write: Write,
  settings: Pick<OtherAction, "blocks" | "flow"> = {},
): OtherAction {
  const { resource, name } = write;
  return { type, id: otherId(resource, name), lane: "at once", name, effects: [write], ...settings };
}

/** One write of an object is under way at a time. */
export function otherId(resource: string, name: string): string {
  return `${resource}/${name}`;
}

/** `resource`: a name in the `writes` of workloads (runtime/workload_reconciler.ts). */
export function targetOf(
  resource: "pods" | "claims" | "revisions" | "imagepulljobs",
  { namespace, name }: { readonly namespace: string; readonly name: string },
) {
  return { resource, namespace, name, priority: "high" } as const;
}

interface Report {
  readonly reason: string;
  readonly message: string;
}

/** The error is appended to its texts. */
export interface FailureReport extends Report {
  /** What the workload's status tells of it, in place of the message. */
  readonly condition?: string;
}

/** What a kind says of its action. */
export interface Reports {
  /** The Normal event on success. Default: there is none. */
  readonly succeeded?: Report;
  /** The Warning event on failure. Default: what all kinds say of such an action. */
  readonly failed?: FailureReport;
  /** Whom the events are about. Default: the object of the plan. */
  readonly about?: Pod;
}

export function successOf({ succeeded, about }: Reports): EventEffect | undefined {
  return succeeded && eventEffect("Normal", succeeded, about);
}

/** `otherwise`: where the kind says nothing; `{error}` is what the server said. */
export function failureOf({ failed, about }: Reports, otherwise: Report): EventEffect {
  return eventEffect("Warning", failed === undefined ? otherwise : withError(failed), about);
}

export function withError({ reason, message }: Report): Report {
  return { reason, message: `${message}: {error}` };
}

export function eventEffect(
  type: "Normal" | "Warning",
  { reason, message }: Report,
  about?: Pod,
): EventEffect {
  const event = { type, reason, message };
  return about === undefined
    ? { type: "event", event }
    : { type: "event", event, about: eventTarget(podResource, about) };
}
