/** Which actions fit which kind: those whose commands the kind supports. */
import type { ResourceType } from "../resource_types.ts";
import { pausedPathOf, workloadNamed } from "../rollout/workloads.ts";
import type { Action } from "./shared/actions.ts";

/** Kinds with a scale subresource. */
const scaled: ReadonlySet<string> = new Set([
  "CloneSet.apps.kruise.io",
  "StatefulSet.apps.kruise.io",
  "UnitedDeployment.apps.kruise.io",
  "Deployment.apps",
  "StatefulSet.apps",
]);

/** In the order in which they are offered; none for a kind that cannot be changed here. */
export function actionsFor(type: ResourceType): Action[] {
  const workload = workloadNamed(type);
  const fits: Readonly<Record<Action, boolean>> = {
    pause: pausedPathOf(type, undefined) !== undefined,
    resume: pausedPathOf(type, undefined) !== undefined,
    promote: workload?.partitions !== undefined,
    undo: workload !== undefined,
    scale: scaled.has(`${type.kind}.${type.group}`),
    recreate: workload !== undefined,
  };
  const order: readonly Action[] = ["pause", "resume", "promote", "undo", "scale", "recreate"];
  return order.filter((action) => fits[action]);
}
