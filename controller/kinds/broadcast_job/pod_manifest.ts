/** A new pod of a BroadcastJob. Spec: jobs B4, rule 2. */
import { broadcastJobNameLabel, broadcastJobUidLabel } from "../../../crds/index.ts";
import { freeName, ownerReference, pinnedTo } from "../../rollout/pods/pod_manifest.ts";
import type { PodCreation } from "../../rollout/writes/actions.ts";
import { createPod } from "../../rollout/writes/pod_actions.ts";
import type { BroadcastJobState } from "./state.ts";

/** Longest name for which the API server itself would make five characters. */
const longestPrefix = 58;

/** `names`: of new pods of this pass; the name is added. */
export function createBroadcastJobPod(
  state: BroadcastJobState,
  node: string,
  names: Set<string>,
): PodCreation {
  const { observed, options, now } = state;
  const { job } = observed;
  const { name: jobName = "", namespace = "", uid = "" } = job.metadata;
  const { template } = job.spec;
  const prefix = `${jobName}-`.slice(0, longestPrefix);
  const name = freeName(prefix, state.random, (each) => names.has(each) || observed.isTaken(each));
  names.add(name);
  const metadata = {
    name,
    namespace,
    generateName: `${jobName}-`,
    labels: {
      ...template.metadata?.labels,
      [broadcastJobNameLabel]: jobName,
      [broadcastJobUidLabel]: uid,
    },
    ...(template.metadata?.annotations ? { annotations: template.metadata.annotations } : {}),
    ...(template.metadata?.finalizers ? { finalizers: template.metadata.finalizers } : {}),
    ownerReferences: [ownerReference("BroadcastJob", jobName, uid)],
  };
  const spec = options.assignByScheduler
    ? { ...template.spec, affinity: pinnedTo(node, template.spec.affinity) }
    : { ...template.spec, nodeName: node };
  return createPod(metadata, spec, now, {
    succeeded: { reason: "SuccessfulCreate", message: `Created pod: ${name}` },
    failed: { reason: "FailedCreate", message: "Error creating" },
  });
}
