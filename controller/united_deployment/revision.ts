/** Revisions of a UnitedDeployment: its whole template, whatever is in it. Spec: uniteddeployment 4.2. */
import { type SubsetTemplateName, subsetTemplatesOf, type UnitedDeployment } from "../../crds/index.ts";
import {
  encodeTyped,
  isJsonObject,
  type JsonObject,
  own,
  revisionDataOfTyped,
} from "../../kube/core/index.ts";
import type { ControllerRevision } from "../../kube/index.ts";
import { objectAt, objectsAt } from "../json_fields.ts";
import { ownerReference } from "../rollout/pods/pod_manifest.ts";
import { createRevision } from "../rollout/revisions/revision_actions.ts";
import type { RevisionAction } from "../rollout/revisions/revision_writer.ts";
import { findRevision, HASH_LABEL, type RevisionSearch, shortHash } from "../rollout/revisions/revisions.ts";

/** Members that the API's own types write even when they are empty. */
const alwaysWritten: Readonly<Partial<Record<SubsetTemplateName, JsonObject>>> = {
  advancedStatefulSetTemplate: { updateStrategy: {}, volumeClaimUpdateStrategy: {} },
  cloneSetTemplate: { scaleStrategy: {}, updateStrategy: {} },
};

const coreTypes: Readonly<Partial<Record<SubsetTemplateName, string>>> = {
  statefulSetTemplate: "StatefulSetSpec",
  deploymentTemplate: "DeploymentSpec",
};

/** `data` of the revision. */
export function unitedRevisionData({ spec }: Pick<UnitedDeployment, "spec">): string {
  const typed = subsetTemplatesOf(spec).map(({ name, template }) => {
    const workload = objectAt(template, "spec");
    const coreType = coreTypes[name];
    const encoded = coreType === undefined ? ownSpec(name, workload) : encodeTyped(workload, coreType);
    return [name, { metadata: encodeTyped(objectAt(template, "metadata"), "ObjectMeta"), spec: encoded }];
  });
  return revisionDataOfTyped(Object.fromEntries(typed));
}

function ownSpec(name: SubsetTemplateName, workload: JsonObject): JsonObject {
  const claims = objectsAt(workload, "volumeClaimTemplates");
  const kept = withoutZeros({ ...alwaysWritten[name], ...workload });
  return {
    ...kept,
    template: encodeTyped(objectAt(workload, "template"), "PodTemplateSpec"),
    ...(claims.length === 0
      ? {}
      : { volumeClaimTemplates: claims.map((claim) => encodeTyped(claim, "PersistentVolumeClaim")) }),
  };
}

/** Texts and flags of these types are left out when they are zero. */
function withoutZeros(object: JsonObject): JsonObject {
  const members = Object.entries(object).filter(
    ([, value]) => value !== false && value !== "" && value !== null,
  );
  return Object.fromEntries(
    members.map(([name, value]) => [name, isJsonObject(value) ? withoutZeros(value) : value]),
  );
}

/** `revisions`: sorted by number; `taken`: the data of a name in use elsewhere. */
export function findUnitedRevision(
  object: UnitedDeployment,
  revisions: readonly ControllerRevision[],
  taken: (name: string) => string | undefined,
): RevisionSearch {
  const { metadata, status } = object;
  const data = unitedRevisionData(object);
  return findRevision(metadata.name ?? "", data, revisions, status?.collisionCount ?? 0, taken);
}

export function createUnitedRevision(
  { metadata, spec }: UnitedDeployment,
  { update }: RevisionSearch,
): RevisionAction {
  const { name = "", namespace = "", uid = "" } = metadata;
  const [found] = subsetTemplatesOf(spec);
  // What the API does: without these labels its own controller finds none of them again.
  const template = found?.name === "cloneSetTemplate" ? {} : (found?.template ?? {});
  const labels = own(objectAt(template, "metadata"), "labels");
  return createRevision(update, {
    namespace,
    labels: { ...(isJsonObject(labels) ? labels : {}), [HASH_LABEL]: shortHash(update.name) },
    ownerReferences: [ownerReference("UnitedDeployment", name, uid)],
  });
}
