/** A new pod of a StatefulSet. Spec: statefulset 4.2, 4.5 rule 18, 4.9 rule 32. */
import type { PodTemplate } from "../../../crds/index.ts";
import { STATE_LABEL, STATE_TIME, timestamp } from "../../rollout/lifecycle/lifecycle.ts";
import { acceptedPod, ownerReference, withClaimVolumes } from "../../rollout/pods/pod_manifest.ts";
import { type Revision, templateOf } from "../../rollout/revisions/revisions.ts";
import type { Action, NewClaim } from "../../rollout/writes/actions.ts";
import { claimName, POD_INDEX_LABEL, POD_NAME_LABEL, REVISION_LABEL } from "./observe.ts";
import { type Pass, podWords } from "./pass.ts";

export function createPod(
  pass: Pass,
  revision: Revision,
  ordinal: number,
  claims: readonly NewClaim[],
): Action {
  const { set } = pass.seen;
  const template = templateFor(pass, revision);
  const name = `${pass.name}-${ordinal}`;
  const spec: PodTemplate["spec"] = {
    ...withClaimVolumes(
      template,
      pass.strategy.claimTemplates.map((claim) => ({
        volume: claim.metadata.name ?? "",
        claim: claimName(claim, pass.name, ordinal),
      })),
    ),
    hostname: name,
    ...(set.spec.serviceName ? { subdomain: set.spec.serviceName } : {}),
  };
  const metadata = {
    name,
    namespace: pass.namespace,
    generateName: `${pass.name}-`,
    labels: {
      ...template.metadata?.labels,
      [REVISION_LABEL]: revision.name,
      ...identityLabels(pass, ordinal),
      [STATE_LABEL]: firstState(pass, template),
    },
    annotations: { ...template.metadata?.annotations, [STATE_TIME]: timestamp(pass.now) },
    ...(template.metadata?.finalizers ? { finalizers: template.metadata.finalizers } : {}),
    ownerReferences: [ownerReference("StatefulSet", pass.name, pass.uid)],
  };
  return {
    type: "create pod",
    name,
    body: { apiVersion: "v1", kind: "Pod", metadata, spec },
    after: acceptedPod(metadata, spec, pass.now),
    claims,
    ...podWords(pass, "create", name),
  };
}

export function identityLabels(pass: Pass, ordinal: number): Record<string, string> {
  return {
    [POD_NAME_LABEL]: `${pass.name}-${ordinal}`,
    ...(pass.options.podIndexLabel ? { [POD_INDEX_LABEL]: String(ordinal) } : {}),
  };
}

/** A pod that carries all of the preNormal hook from the start needs no preparation. */
function firstState(pass: Pass, template: PodTemplate): "Normal" | "PreparingNormal" {
  const hook = pass.strategy.lifecycle?.preNormal;
  if (hook === undefined) return "Normal";
  const { labels = {}, finalizers = [] } = template.metadata ?? {};
  const all =
    (hook.finalizersHandler ?? []).every((finalizer) => finalizers.includes(finalizer)) &&
    Object.entries(hook.labelsHandler ?? {}).every(([key, value]) => labels[key] === value);
  return all ? "Normal" : "PreparingNormal";
}

/** Only the template comes from the revision; claim templates are always the latest. */
function templateFor(pass: Pass, revision: Revision): PodTemplate {
  if (revision === pass.update) return pass.seen.set.spec.template;
  const { spec, ...stored } = templateOf(revision.data) ?? {};
  return spec === undefined ? pass.seen.set.spec.template : { ...stored, spec };
}
