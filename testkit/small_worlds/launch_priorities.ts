/** Small worlds of one pod whose containers start in the order of their priorities. Spec: containers 2.2. */
import { newReconciler } from "./launch_controller.ts";
import { goingOf, keyOfPriority, mapOf, ownerOf, podOf } from "./launch_pod.ts";
import type { LaunchScenario, LaunchStage } from "./launch_world.ts";

/** `containers`: of the pod, each of a priority of its own where nothing else is said. */
export function launchScenarios(containers: number): LaunchScenario[] {
  const names = Array.from({ length: containers }, (_, at) => String.fromCharCode(97 + at));
  const of = (priorityAt: (at: number) => number) =>
    Object.fromEntries(names.map((name, at) => [name, priorityAt(at)]));
  const ordered = of((at) => -at);
  const keys = Object.values(ordered).map(keyOfPriority);
  const scenario = (name: string, more: Partial<LaunchScenario> = {}): LaunchScenario => ({
    name: `LaunchPriority ${name}`,
    priorities: ordered,
    map: undefined,
    broken: undefined,
    stages: [],
    end: "launched",
    make: newReconciler,
    ...more,
  });
  const again = people("again", ({ pod }) =>
    pod === undefined ? { pod: podOf("pod-2", ordered) } : undefined,
  );
  const deleted = people("deleted", ({ pod }) => (pod === undefined ? {} : { pod: goingOf(pod) }));
  const foreign = mapOf("map-0", [], ["mine"]);
  return [
    scenario("in the order of the containers"),
    scenario("in another order", { priorities: of((at) => at * 5) }),
    scenario("with two containers that start together", { priorities: of((at) => Math.max(1, at)) }),
    scenario("with a container that never gets ready", { broken: "a", end: "waiting" }),
    scenario("beside a ConfigMap of a pod that is gone", { map: mapOf("map-0", [ownerOf("pod-0")], keys) }),
    scenario("beside somebody's ConfigMap", { map: foreign, end: "waiting" }),
    scenario("beside somebody's ConfigMap that goes", {
      map: foreign,
      stages: [people("it goes", () => ({ map: undefined }))],
    }),
    scenario("of a pod that is deleted meanwhile", { stages: [deleted] }),
    scenario("of a pod that is deleted, and made again", { stages: [deleted, again] }),
  ];
}

function people(name: string, change: LaunchStage["change"]): LaunchStage {
  return { name, change };
}
