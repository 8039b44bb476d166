/** A new pod of a DaemonSet. Spec: daemonset 4.1 rule 3, 4.2 rules 6 to 11. */
import type { PodTemplate } from "../../../crds/index.ts";
import { daemonTolerations } from "../../../kube/core/index.ts";
import { freeName, ownerReference, pinnedTo, withGates } from "../../rollout/pods/pod_manifest.ts";
import { IN_PLACE_READY } from "../../rollout/pods/pod_state.ts";
import type { PodCreation } from "../../rollout/writes/actions.ts";
import { createPod } from "../../rollout/writes/pod_actions.ts";
import type { DaemonSetState } from "./state.ts";
import { GENERATION_LABEL, REVISION_LABEL } from "./strategy.ts";

/** The API server cuts prefixes of generated names to this length. */
const LONGEST_PREFIX = 58;

/**
 * Every new pod has the newest template, whatever partition, paused and OnDelete say (rule 11). `names`: of new pods of this
 * pass; the name is added.
 */
export function createDaemonSetPod(state: DaemonSetState, node: string, names: Set<string>): PodCreation {
  const { observed, mark } = state;
  const { template } = observed.set.spec;
  const prefix = `${state.name}-`.slice(0, LONGEST_PREFIX);
  const name = freeName(prefix, state.random, (each) => names.has(each) || observed.isTaken(each));
  names.add(name);
  const metadata = {
    name,
    generateName: prefix,
    namespace: state.namespace,
    labels: {
      ...template.metadata?.labels,
      [REVISION_LABEL]: mark.hash,
      ...(mark.generation === undefined ? {} : { [GENERATION_LABEL]: mark.generation }),
    },
    ...(template.metadata?.annotations ? { annotations: { ...template.metadata.annotations } } : {}),
    ...(template.metadata?.finalizers ? { finalizers: [...template.metadata.finalizers] } : {}),
    ownerReferences: [ownerReference("DaemonSet", state.name, state.uid)],
  };
  const spec = specFor(state, template.spec, node);
  return createPod(metadata, spec, state.now, {
    succeeded: { reason: "SuccessfulCreate", message: `Created pod: ${name}` },
    failed: { reason: "FailedCreate", message: "Error creating" },
  });
}

function specFor(state: DaemonSetState, template: PodTemplate["spec"], node: string): PodTemplate["spec"] {
  const gated = state.strategy.inPlace ? withGates(template, [IN_PLACE_READY]) : template;
  const spec = { ...gated, tolerations: daemonTolerations(template) };
  return state.options.assignByScheduler
    ? { ...spec, affinity: pinnedTo(node, template.affinity) }
    : { ...spec, nodeName: node, schedulerName: "kubernetes.io/daemonset-controller" };
}
