/** BroadcastJobs: no more at a time than they say, and none twice on a node. */
import { isByController } from "./disruptions.ts";
import { amountAt, controllerOf, isActive, nodeOf } from "./fields.ts";
import type { Rule } from "./rule.ts";

export const jobs: Rule = (write) => {
  const { pod, cluster, verb, resource, seen, staleMs } = write;
  if (!isByController(write) || pod === undefined || verb !== "create" || resource !== "pods") return [];
  const owner = controllerOf(pod.now);
  const { namespace } = pod.now.metadata;
  const job = cluster
    .objects("broadcastjobs.apps.kruise.io", namespace)
    .find(({ metadata }) => metadata.uid === owner?.uid);
  if (job === undefined) return [];
  const active = cluster
    .objects("pods", namespace)
    .filter((each) => controllerOf(each)?.uid === owner?.uid && isActive(each));
  const nodes = cluster.objects("nodes").length;
  const most = Math.max(
    ...seen
      .recentStates(job, staleMs)
      .map((state) => amountAt(state, ["spec", "parallelism"], nodes, Math.ceil, nodes)),
  );
  const wrong =
    active.length > most
      ? [`BroadcastJob ${namespace}/${job.metadata.name}: ${active.length} pods are active, ${most} may be`]
      : [];
  const node = nodeOf(pod.now);
  const there = active.filter((each) => nodeOf(each) === node).length;
  if (there > 1) wrong.push(`BroadcastJob ${namespace}/${job.metadata.name}: ${there} pods are for ${node}`);
  return wrong;
};
