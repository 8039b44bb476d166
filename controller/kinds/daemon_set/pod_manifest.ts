/** A new pod of a DaemonSet. Spec: daemonset 4.1 rule 3, 4.2 rules 6 to 11. */
import type { Affinity, PodTemplate } from "../../../crds/index.ts";
import { daemonTolerations } from "../../../kube/core/index.ts";
import { acceptedPod, ownerReference, randomId, withGates } from "../../rollout/pods/pod_manifest.ts";
import { IN_PLACE_READY } from "../../rollout/pods/pod_state.ts";
import type { Action } from "../../rollout/writes/actions.ts";
import { GENERATION_LABEL, REVISION_LABEL } from "./observe.ts";
import type { Pass } from "./pass.ts";

/** The API server cuts prefixes of generated names to this length. */
const LONGEST_PREFIX = 58;

/** Every new pod has the newest template, whatever partition, paused and OnDelete say (rule 11). */
export function createPod(pass: Pass, node: string): Action {
  const { seen, mark } = pass;
  const { template } = seen.set.spec;
  const prefix = `${pass.name}-`.slice(0, LONGEST_PREFIX);
  const name = freeName(pass, prefix);
  const metadata = {
    name,
    generateName: prefix,
    namespace: pass.namespace,
    labels: {
      ...template.metadata?.labels,
      [REVISION_LABEL]: mark.hash,
      ...(mark.generation === undefined ? {} : { [GENERATION_LABEL]: mark.generation }),
    },
    ...(template.metadata?.annotations ? { annotations: { ...template.metadata.annotations } } : {}),
    ...(template.metadata?.finalizers ? { finalizers: [...template.metadata.finalizers] } : {}),
    ownerReferences: [ownerReference("DaemonSet", pass.name, pass.uid)],
  };
  const spec = specFor(pass, template.spec, node);
  return {
    type: "create pod",
    name,
    body: { apiVersion: "v1", kind: "Pod", metadata, spec },
    after: acceptedPod(metadata, spec, pass.now),
    claims: [],
    succeeded: { type: "Normal", reason: "SuccessfulCreate", message: `Created pod: ${name}` },
    failed: { reason: "FailedCreate", message: "Error creating" },
  };
}

function freeName(pass: Pass, prefix: string): string {
  const { decided, seen } = pass;
  let name: string;
  do name = `${prefix}${randomId(pass.random)}`;
  while (decided.names.has(name) || seen.isTaken(name));
  decided.names.add(name);
  return name;
}

function specFor(pass: Pass, template: PodTemplate["spec"], node: string): PodTemplate["spec"] {
  const gated = pass.strategy.inPlace ? withGates(template, [IN_PLACE_READY]) : template;
  const spec = { ...gated, tolerations: daemonTolerations(template) };
  return pass.options.assignByScheduler
    ? { ...spec, affinity: pinnedTo(node, template.affinity) }
    : { ...spec, nodeName: node, schedulerName: "kubernetes.io/daemonset-controller" };
}

/** The node is chosen: what the template requires of nodes has been matched; what it prefers is kept. */
function pinnedTo(node: string, affinity: Affinity | undefined): Affinity {
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }],
      },
    },
  };
}
