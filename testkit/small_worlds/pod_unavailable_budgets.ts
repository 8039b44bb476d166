/** Small worlds of one PodUnavailableBudget. Spec: protection A4. */
import type { PodUnavailableBudgetSpec } from "../../crds/index.ts";
import { type Cluster, failed, marked, podOf } from "./budget_cluster.ts";
import type { BudgetScenario, Request, Stage } from "./budget_world.ts";

export function budgetScenarios(pods: number): BudgetScenario[] {
  const names = Array.from({ length: pods }, (_, at) => `pod-${at + 1}`);
  const each = (operation: Request["operation"]): Request[] => names.map((pod) => ({ pod, operation }));
  const scenario = (
    name: string,
    spec: PodUnavailableBudgetSpec,
    requests: readonly Request[],
    more: Partial<BudgetScenario> = {},
  ): BudgetScenario => ({
    name: `PodUnavailableBudget ${name}`,
    spec: { ...spec, selector: { matchLabels: { app: "web" } } },
    pods: names.map((pod) => podOf(pod)),
    requests,
    ...more,
  });
  const one = { maxUnavailable: 1 };
  const pod = "pod-1";
  const other = "pod-2";
  return [
    scenario("of pods that are evicted", one, each("EVICT")),
    scenario("of pods that are updated", one, each("UPDATE")),
    scenario("that is new", one, each("DELETE"), { isNew: true }),
    scenario("that lets two go at a time", { maxUnavailable: 2 }, each("DELETE")),
    scenario("asked twice about a pod", one, [
      { pod, operation: "UPDATE" },
      { pod, operation: "DELETE" },
      { pod: other, operation: "EVICT" },
    ]),
    scenario("asked about a pod that stays", one, [
      { pod, operation: "DELETE", isLost: true },
      { pod: other, operation: "DELETE" },
    ]),
    scenario("asked as a dry run", one, [
      { pod, operation: "DELETE", isDryRun: true },
      { pod: other, operation: "EVICT", isDryRun: true },
      { pod: other, operation: "DELETE" },
    ]),
    scenario("of pods one of which fails", one, each("DELETE"), {
      stages: [{ name: "pod-1 fails", change: (cluster) => failed(cluster, pod), pod }],
    }),
    scenario("that allows less and less", { maxUnavailable: 2 }, each("DELETE"), {
      stages: [asks("one at a time", one), asks("none", { maxUnavailable: 0 })],
    }),
    scenario("that keeps a share, then less of it", { minAvailable: "100%" }, each("DELETE"), {
      stages: [asks("half of them", { minAvailable: "50%" })],
    }),
    scenario("of a pod that is to be replaced", one, each("DELETE"), {
      stages: [{ name: "pod-1 is marked", change: (cluster) => marked(cluster, pod), pod }],
    }),
    scenario("of a workload that grows", one, each("DELETE"), {
      stages: [{ name: "one more", change: ({ replicas }) => ({ replicas: replicas + 1 }) }],
    }),
    scenario("of pods that come back under their names", one, each("DELETE"), { keepsNames: true }),
    scenario("asked by a clock that is behind", one, each("DELETE"), { aheadMs: -3_600_000 }),
    scenario("asked by a clock that is ahead", one, each("UPDATE"), { aheadMs: 3_600_000 }),
  ];
}

function asks(name: string, amounts: PodUnavailableBudgetSpec): Stage {
  const change = ({ budget }: Cluster) => {
    const { maxUnavailable: _, minAvailable: __, ...others } = budget.spec;
    return { budget: { ...budget, spec: { ...others, ...amounts } } };
  };
  return { name, change };
}
