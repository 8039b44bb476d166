/** Small worlds of one WorkloadSpread. Spec: workloadspread 4. */
import type { WorkloadSpreadSpec, WorkloadSpreadSubset } from "../../crds/index.ts";
import { ZONE } from "./spread_cluster.ts";
import type { SpreadScenario, SpreadStage } from "./spread_state.ts";

type Cap = number | string | undefined;

const targets = {
  CloneSet: "apps.kruise.io/v1beta1",
  Deployment: "apps/v1",
  Job: "batch/v1",
};

type More = Partial<Omit<SpreadScenario, "spec">> & {
  readonly kind?: keyof typeof targets;
  readonly spec?: Partial<WorkloadSpreadSpec>;
};

/** `pods`: that are wanted; `mishaps`: how many may have happened. */
export function spreadScenarios(pods: number, mishaps: number): SpreadScenario[] {
  const scenario = (
    name: string,
    caps: readonly Cap[],
    { kind = "CloneSet", spec: others, fills, ...more }: More = {},
  ): SpreadScenario => {
    const targetRef = { apiVersion: targets[kind], kind, name: "web" };
    return {
      name: `WorkloadSpread ${name}`,
      size: pods,
      ...more,
      spec: { targetRef, ...subsets(...caps), ...others },
      // What a mishap makes of it is not certain.
      ...(mishaps === 0 && fills !== undefined ? { fills } : {}),
    };
  };
  const rest = pods - 1;
  const caps = [1, undefined];
  const fills = [1, rest];
  const there = ["a", ...Array.from({ length: rest }, () => "b")];
  const settled = { pods: there, fills };
  return [
    scenario("of pods that are made", caps, { fills }),
    scenario("of pods without names", caps, { fills, isNameless: true }),
    scenario("of more pods than it has room for", [1, rest - 1], { fills }),
    scenario("of a pod that is refused by others", caps, { losses: 1 }),
    scenario("of a pod that is evicted", caps, { ...settled, evictions: 1 }),
    scenario("of a pod whose eviction others refuse", caps, { pods: there, evictions: 1, losses: 1 }),
    scenario("of pods that come back under their names", caps, {
      ...settled,
      evictions: 2,
      keepsNames: true,
    }),
    scenario("scaled out", caps, { fills, pods: there.slice(0, rest), size: rest, stages: [sized(pods)] }),
    scenario("scaled in", caps, { pods: there, stages: [sized(1)], fills: [1, 0] }),
    scenario("with shares, scaled out", ["50%", "50%"], {
      pods: there.slice(0, rest),
      size: rest,
      stages: [sized(pods)],
    }),
    scenario("that takes more meanwhile", caps, { stages: [changed("room for two", subsets(2, undefined))] }),
    scenario("that loses its last subset meanwhile", caps, { stages: [changed("without b", subsets(1))] }),
    scenario("whose subsets change places", caps, {
      pods: there,
      evictions: 1,
      stages: [changed("b first", { subsets: subsets(1, undefined).subsets.reverse() })],
    }),
    scenario("made around its pods", caps, { pods: there.map(() => undefined), isNew: true, evictions: 1 }),
    scenario("of a zone in which no pod fits", caps, {
      spec: { scheduleStrategy: { type: "Adaptive", adaptive: { rescheduleCriticalSeconds: 5 } } },
      full: ["a"],
      fills: [0, pods],
    }),
    scenario("of a Deployment with another template", caps, {
      kind: "Deployment",
      ...settled,
      stages: [
        {
          name: "another template",
          change: ({ workload }) => ({ workload: { ...workload, template: "2" } }),
        },
      ],
    }),
    scenario("of a Job with a pod that ends", caps, { kind: "Job", pods: there, ends: 1 }),
    scenario("asked by clocks that are behind", caps, { losses: 1, aheadMs: -360_000 }),
    scenario("asked by clocks that are ahead", caps, { losses: 1, aheadMs: 360_000 }),
  ];
}

function subsets(...caps: readonly Cap[]): { subsets: WorkloadSpreadSubset[] } {
  return { subsets: caps.map((cap, at) => subset("abc"[at] ?? "", cap)) };
}

function subset(name: string, maxReplicas: Cap): WorkloadSpreadSubset {
  const requiredNodeSelector = { matchExpressions: [{ key: ZONE, operator: "In", values: [name] }] };
  return { name, requiredNodeSelector, ...(maxReplicas === undefined ? {} : { maxReplicas }) };
}

function sized(size: number): SpreadStage {
  return { name: `${size} pods`, change: ({ workload }) => ({ workload: { ...workload, size } }) };
}

function changed(name: string, spec: Partial<WorkloadSpreadSpec>): SpreadStage {
  return { name, change: ({ spread }) => ({ spread: { ...spread, spec: { ...spread.spec, ...spec } } }) };
}
