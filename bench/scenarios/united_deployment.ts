/** A UnitedDeployment of many subsets, each a CloneSet: what the level above the workloads costs, and whether it slows them. */
import { jsonResource, type KubeObject } from "../../kube/index.ts";
import { runPhase } from "../measure/phase.ts";
import { WORKLOAD_LABEL } from "../measure/pod_board.ts";
import { isTerminating, isTouched, runs } from "../measure/pod_state.ts";
import { BENCH_LABEL } from "../resources.ts";
import { amountOf, type Scenario, type Stage } from "../scenario.ts";
import { firstImage, podSpec, secondImage } from "../workloads.ts";

const most = 10;
const name = "bench";

const unitedDeployments = jsonResource<KubeObject>({
  group: "apps.kruise.io",
  version: "v1beta1",
  plural: "uniteddeployments",
  kind: "UnitedDeployment",
  namespaced: true,
});

export const uniteddeployment: Scenario = {
  name: "uniteddeployment",
  summary: `--pods in ${most} subsets of a UnitedDeployment, each a CloneSet: created, updated in place, scaled to half`,
  kinds: ["CloneSet"],
  usualPods: 5_000,
  async run(stage) {
    const { client, namespace, settings } = stage;
    const subsets = Math.min(most, settings.pods);
    const each = Math.floor(settings.pods / subsets);
    const pods = subsets * each;
    const maxUnavailable = amountOf(settings.maxUnavailable, each);
    const change = (spec: object) =>
      client.patch(unitedDeployments, { namespace, name }, { type: "merge", body: { spec } });
    const facts = () => ({ subsets, "pods each": each });
    try {
      const created = await runPhase(stage, {
        name: "create",
        pods,
        begin: () =>
          client.create(unitedDeployments, namespace, objectOf(stage, subsets, pods, maxUnavailable)),
        arrived: (pod) => runs(pod, firstImage),
        touched: () => true,
        // Of each subset.
        budget: { replicas: each, maxPods: each },
        facts,
      });
      const updated = await runPhase(stage, {
        name: "rollout in place",
        pods,
        begin: () => change({ template: templateOf(stage, maxUnavailable, secondImage) }),
        arrived: (pod) => runs(pod, secondImage),
        remaining: pods,
        touched: (pod) => isTouched(pod, secondImage),
        budget: { replicas: each, maxUnavailable },
        facts,
      });
      const half = subsets * Math.floor(each / 2);
      const left = await runPhase(stage, {
        name: "scale in",
        pods: pods - half,
        begin: () => change({ replicas: half }),
        remaining: half,
        touched: isTerminating,
        facts,
      });
      return { phases: [created, updated, left] };
    } finally {
      // Before its workloads, which it would make again.
      await client.delete(unitedDeployments, { namespace, name }).catch(() => undefined);
    }
  },
};

/** Pods of each subset carry its name, so that each is held to its own budget. */
function objectOf(stage: Stage, subsets: number, replicas: number, maxUnavailable: number): object {
  const names = Array.from({ length: subsets }, (_, index) => `subset-${index + 1}`);
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "UnitedDeployment",
    metadata: { name, labels: { [BENCH_LABEL]: stage.run } },
    spec: {
      replicas,
      selector: { matchLabels: labelsOf(stage) },
      template: templateOf(stage, maxUnavailable, firstImage),
      topology: {
        subsets: names.map((subset) => ({
          name: subset,
          patch: { metadata: { labels: { [WORKLOAD_LABEL]: subset } } },
        })),
      },
    },
  };
}

function labelsOf({ run }: Stage): Record<string, string> {
  return { [BENCH_LABEL]: run, "bench-united": name };
}

function templateOf(stage: Stage, maxUnavailable: number, image: string): object {
  const labels = labelsOf(stage);
  const rollingUpdate = { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable };
  const spec = {
    selector: { matchLabels: labels },
    updateStrategy: { type: "RollingUpdate", rollingUpdate },
    template: { metadata: { labels }, spec: podSpec(stage.run, image) },
  };
  return { cloneSetTemplate: { metadata: { labels }, spec } };
}
