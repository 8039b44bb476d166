/** BroadcastJobs: no more at a time than they say, and none twice on a node. */

import type { StoredObject } from "../../sandbox/index.ts";
import { isByController } from "./disruptions.ts";
import { amountAt, controllerOf, isActive, listAt, textAt } from "./fields.ts";
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

/** Where it is, or where its affinity wants it to be. */
function nodeOf(pod: StoredObject): string {
  const name = textAt(pod, "spec", "nodeName");
  if (name !== "") return name;
  const required = ["spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
  const [term] = listAt(pod, ...required, "nodeSelectorTerms");
  const [field] = listAt(term, "matchFields");
  const [value] = listAt(field, "values");
  return typeof value === "string" ? value : "";
}
