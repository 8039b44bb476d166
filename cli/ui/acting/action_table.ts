/** Which actions fit which kind: those whose commands the kind supports. */
import type { ResourceType } from "../../resource_types.ts";
import { pausedPathOf, workloadNamed } from "../../rollout/workloads.ts";
import { type Action, type ActionTable, actions } from "../shared/actions.ts";
import { listedKinds } from "../watching/fleet.ts";

/** Kinds with a scale subresource. */
const scaled: ReadonlySet<string> = new Set([
  "CloneSet.apps.kruise.io",
  "StatefulSet.apps.kruise.io",
  "UnitedDeployment.apps.kruise.io",
  "Deployment.apps",
  "StatefulSet.apps",
]);

/** None for a kind that cannot be changed here. */
export function actionsFor(type: Pick<ResourceType, "group" | "kind">): Action[] {
  const workload = workloadNamed(type);
  const fits: Readonly<Record<Action, boolean>> = {
    pause: pausedPathOf(type, undefined) !== undefined,
    resume: pausedPathOf(type, undefined) !== undefined,
    promote: workload?.partition !== undefined || workload?.subsetPartitions !== undefined,
    partition: workload?.partition !== undefined,
    undo: workload !== undefined,
    scale: scaled.has(`${type.kind}.${type.group}`),
    recreate: workload !== undefined,
  };
  return actions.filter((action) => fits[action]);
}

/** Of all kinds that the page lists. */
export function actionTable(): ActionTable {
  return Object.fromEntries(
    listedKinds.map(([group, kind]) => [`${kind}.${group}`, actionsFor({ group, kind })]),
  );
}
