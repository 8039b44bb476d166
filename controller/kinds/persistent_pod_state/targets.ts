/** PersistentPodStates by the workload whose pods they record. */
import { groupOf, type PersistentPodState } from "../../../crds/index.ts";
import type { Reader } from "../../../kube/index.ts";
import type { Indexes } from "../../runtime/informers.ts";

export const targetIndex = {
  target: ({ metadata, spec }) => {
    const { apiVersion, kind, name } = spec.targetRef;
    return [targetValue(metadata.namespace ?? "", groupOf(apiVersion), kind, name)];
  },
} satisfies Indexes<PersistentPodState>;

export function targetValue(namespace: string, group: string, kind: string, name: string): string {
  return `${namespace}/${group}/${kind}/${name}`;
}

/** The object that steers the pods of a workload; of several the first by name. */
export function stateOf(
  objects: Reader<PersistentPodState>,
  ...target: Parameters<typeof targetValue>
): PersistentPodState | undefined {
  let found: PersistentPodState | undefined;
  for (const object of objects.byIndex("target", targetValue(...target))) {
    if (object.metadata.deletionTimestamp !== undefined) continue;
    if (found === undefined || (object.metadata.name ?? "") < (found.metadata.name ?? "")) found = object;
  }
  return found;
}
