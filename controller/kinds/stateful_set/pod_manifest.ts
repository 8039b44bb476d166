/** A new pod of a StatefulSet. Spec: statefulset 4.2, 4.5 rule 18, 4.9 rule 32. */
import type { PodTemplate } from "../../../crds/index.ts";
import { STATE_LABEL, STATE_TIME, timestamp } from "../../rollout/lifecycle/lifecycle.ts";
import { ownerReference, withClaimVolumes } from "../../rollout/pods/pod_manifest.ts";
import { type Revision, templateOf } from "../../rollout/revisions/revisions.ts";
import type { FailureReport, Reports } from "../../rollout/writes/action_parts.ts";
import type { PodCreation } from "../../rollout/writes/actions.ts";
import type { NewClaim } from "../../rollout/writes/claim_actions.ts";
import { createPod } from "../../rollout/writes/pod_actions.ts";
import type { StatefulSetState } from "./state.ts";
import { claimName, POD_INDEX_LABEL, POD_NAME_LABEL, REVISION_LABEL } from "./strategy.ts";

export function createStatefulSetPod(
  state: StatefulSetState,
  revision: Revision,
  ordinal: number,
  claims: readonly NewClaim[],
): PodCreation {
  const { set } = state.observed;
  const template = templateFor(state, revision);
  const name = `${state.name}-${ordinal}`;
  const spec: PodTemplate["spec"] = {
    ...withClaimVolumes(
      template,
      state.strategy.claimTemplates.map((claim) => ({
        volume: claim.metadata?.name ?? "",
        claim: claimName(claim, state.name, ordinal),
      })),
    ),
    hostname: name,
    ...(set.spec.serviceName ? { subdomain: set.spec.serviceName } : {}),
  };
  const metadata = {
    name,
    namespace: state.namespace,
    generateName: `${state.name}-`,
    labels: {
      ...template.metadata?.labels,
      [REVISION_LABEL]: revision.name,
      ...identityLabels(state, ordinal),
      [STATE_LABEL]: firstState(state, template),
    },
    annotations: { ...template.metadata?.annotations, [STATE_TIME]: timestamp(state.now) },
    ...(template.metadata?.finalizers ? { finalizers: template.metadata.finalizers } : {}),
    ownerReferences: [ownerReference("StatefulSet", state.name, state.uid)],
  };
  return createPod(metadata, spec, state.now, {
    claims,
    ...podWords(state, "create", name),
  });
}

export function identityLabels(state: StatefulSetState, ordinal: number): Record<string, string> {
  return {
    [POD_NAME_LABEL]: `${state.name}-${ordinal}`,
    ...(state.options.podIndexLabel ? { [POD_INDEX_LABEL]: String(ordinal) } : {}),
  };
}

/** A pod that carries all of the preNormal hook from the start needs no preparation. */
function firstState(state: StatefulSetState, template: PodTemplate): "Normal" | "PreparingNormal" {
  const hook = state.strategy.lifecycle?.preNormal;
  if (hook === undefined) return "Normal";
  const { labels = {}, finalizers = [] } = template.metadata ?? {};
  const all =
    (hook.finalizersHandler ?? []).every((finalizer) => finalizers.includes(finalizer)) &&
    Object.entries(hook.labelsHandler ?? {}).every(([key, value]) => labels[key] === value);
  return all ? "Normal" : "PreparingNormal";
}

/** Only the template comes from the revision; claim templates are always the latest. */
function templateFor(state: StatefulSetState, revision: Revision): PodTemplate {
  if (revision === state.update) return state.observed.set.spec.template;
  const { spec, ...stored } = templateOf(revision.data) ?? {};
  return spec === undefined ? state.observed.set.spec.template : { ...stored, spec };
}

/** The API's words for what happens to a pod. */
export function podWords(
  state: StatefulSetState,
  verb: "create" | "update" | "delete",
  pod: string,
): Reports & { readonly failed: FailureReport } {
  const title = `${verb.slice(0, 1).toUpperCase()}${verb.slice(1)}`;
  return {
    succeeded: {
      reason: `Successful${title}`,
      message: `${verb} Pod ${pod} in StatefulSet ${state.name} successful`,
    },
    failed: {
      reason: `Failed${title}`,
      message: `${verb} Pod ${pod} in StatefulSet ${state.name} failed error`,
      condition: `StatefulPodControl failed to ${verb} Pod error`,
    },
  };
}
