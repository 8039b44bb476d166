/** Revisions of a UnitedDeployment. Spec: uniteddeployment 4.2. */
import { revisedSubsetTemplate, subsetTemplatesOf, type UnitedDeployment } from "../../../crds/index.ts";
import { isJsonObject, own } from "../../../kube/core/index.ts";
import type { ControllerRevision } from "../../../kube/index.ts";
import { objectAt } from "../../native/json_fields.ts";
import type { ObjectBody } from "../../plan/effects.ts";
import { ownerReference } from "../../rollout/pods/pod_manifest.ts";
import {
  findRevision,
  HASH_LABEL,
  type Revision,
  type RevisionSearch,
  shortHash,
} from "../../rollout/revisions/revisions.ts";

/** `revisions`: sorted by number; `taken`: the data of a name in use elsewhere. */
export function findUnitedRevision(
  object: UnitedDeployment,
  revisions: readonly ControllerRevision[],
  taken: (name: string) => string | undefined,
): RevisionSearch {
  const { metadata, spec, status } = object;
  const part = revisedSubsetTemplate;
  const data = part.data(spec.template);
  return findRevision(metadata.name ?? "", { data, part }, revisions, status?.collisionCount ?? 0, taken);
}

/** The data is no part of the body, because it goes out byte for byte. */
export function unitedRevisionBody({ metadata, spec }: UnitedDeployment, update: Revision): ObjectBody {
  const { name = "", uid = "" } = metadata;
  const [found] = subsetTemplatesOf(spec);
  // What the API does: without these labels its own controller finds none of them again.
  const template = found?.name === "cloneSetTemplate" ? {} : (found?.template ?? {});
  const labels = own(objectAt(template, "metadata"), "labels");
  return {
    metadata: {
      labels: { ...(isJsonObject(labels) ? labels : {}), [HASH_LABEL]: shortHash(update.name) },
      ownerReferences: [ownerReference("UnitedDeployment", name, uid)],
    },
    revision: update.number,
  };
}
