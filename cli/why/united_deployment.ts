/** Plans of UnitedDeployments, by the controller's own function. */
import {
  listedCluster,
  listedReads,
  observeUnitedDeployment,
  planUnitedDeployment,
  type SubsetWorkload,
  subsetLabel,
  subsetWorkloads,
  type UnitedPlan,
  unitedIndex,
  unitedPodSelection,
} from "../../controller/index.ts";
import { defaultUnitedDeployment, type UnitedDeployment, unitedDeployment } from "../../crds/index.ts";
import { counted } from "../../kube/core/index.ts";
import { controllerRevisionResource, listAll, podResource } from "../../kube/index.ts";
import { objectName } from "../resource_types.ts";
import type { Forecast, ForecastRequest } from "./forecast.ts";
import { planner } from "./subject.ts";

export const unitedDeploymentPlanner = planner({
  kind: "UnitedDeployment",
  needs: { path: ["spec", "template"], name: "template" },
  read: (object, origin) => {
    const options = { templateDefaults: origin === "manifest", hostNetworkPorts: false };
    return unitedDeployment.readStored(defaultUnitedDeployment(object, options));
  },
  async forecast(object, request) {
    const { plan, children } = await planOf(request, object);
    const { replicas = 0, updatedReplicas = 0, readyReplicas = 0, updatedRevision = "" } = plan.status ?? {};
    return {
      summary:
        `${counted(replicas, "pod")} in ${counted(children.length, "subset")}, ` +
        `${updatedReplicas} at revision ${updatedRevision}, ${readyReplicas} ready`,
      actions: [],
      steps: stepsOf(plan),
      waiting: waitingOf(plan, children),
      requeueAfterMs: plan.requeueAfterMs,
    };
  },
});

async function planOf(
  { access, host }: ForecastRequest,
  object: UnitedDeployment,
): Promise<{ plan: UnitedPlan; children: readonly SubsetWorkload[] }> {
  const { client } = access;
  const { namespace = "" } = object.metadata;
  const reads = listedReads(client, namespace);
  const workloads = subsetWorkloads(reads, "UnitedDeployment");
  const [held, revisions] = await Promise.all([
    reads.select(podResource, unitedPodSelection(object)),
    listAll(client, controllerRevisionResource, { namespace }),
  ]);
  const seen = observeUnitedDeployment(
    object,
    { ...listedCluster({ revisions }), workloads },
    { pods: unitedIndex(object, held), failure: "", now: host.clock.now() },
  );
  return { plan: planUnitedDeployment(seen), children: seen.children };
}

function stepsOf({ kind, revision, deletions, creations, updates, brokenPods }: UnitedPlan): string[] {
  const type = kind?.type ?? "";
  return [
    ...(revision?.write === "create" ? [`create revision ${revision.update.name}`] : []),
    ...deletions.map(({ name }) => `delete ${type} ${name}`),
    ...creations.map(
      ({ target: { subset, replicas } }) =>
        `create ${type} of subset ${subset.name}, ${counted(replicas, "pod")}`,
    ),
    ...updates.map(({ child, target: { replicas, partition } }) => {
      const kept = partition === 0 ? "" : `, ${partition} of them at the old revision`;
      return `update ${type} ${child.name}: ${counted(replicas, "pod")}${kept}`;
    }),
    ...brokenPods.map(({ name }) => `delete pod ${name}, which is old and not ready`),
  ];
}

function waitingOf(
  { kind, problem, unpatched, status }: UnitedPlan,
  children: readonly SubsetWorkload[],
): Forecast["waiting"] {
  if (problem !== undefined) {
    const until = "the numbers of the subsets and spec.replicas agree";
    return [{ reason: "Allocation", message: `no subset is changed: ${problem}`, until }];
  }
  const refused = unpatched.map(({ target: { subset }, message }) => ({
    reason: "Patch",
    message: `subset ${subset.name} is not changed: ${message}`,
    until: "its patch can be applied to the pod template",
  }));
  const subsets = status?.subsetStatuses ?? [];
  const unready = subsets.flatMap(({ name = "", replicas = 0, readyReplicas = 0 }) => {
    const child = children.find(({ labels }) => labels[subsetLabel] === name);
    if (child === undefined || kind === undefined || readyReplicas >= replicas) return [];
    const workload = objectName(kind.resource, child.name);
    return [
      {
        reason: "Subset",
        message: `subset ${name}: ${readyReplicas} of ${counted(replicas, "pod")} ready`,
        until: `${workload} is done`,
        next: `refit why ${workload} -n ${child.namespace}`,
      },
    ];
  });
  const kept = subsets.reduce((sum, { partition = 0 }) => sum + partition, 0);
  const partition = {
    reason: "Partition",
    message: `${counted(kept, "pod")} at most are kept at the old revision`,
    until: "the partitions of the subsets are lowered",
  };
  const { replicas = 0, updatedReplicas = 0 } = status ?? {};
  return [...refused, ...unready, ...(kept === 0 || updatedReplicas >= replicas ? [] : [partition])];
}
