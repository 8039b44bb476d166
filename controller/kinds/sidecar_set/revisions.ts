/** Revisions of a SidecarSet. Spec: sidecarset, rules 13, 27, 28. */
import {
  customVersionLabel,
  revisedSidecars,
  revisionSidecarSetLabel,
  type SidecarSet,
} from "../../../crds/index.ts";
import type { Labels } from "../../../kube/core/index.ts";
import type { ControllerRevision } from "../../../kube/index.ts";
import type { PlanMemory } from "../../rollout/plan_memory.ts";
import { ownerReference } from "../../rollout/pods/pod_manifest.ts";
import { createRevision, patchRevision } from "../../rollout/revisions/revision_actions.ts";
import {
  findRevision,
  HASH_LABEL,
  type RevisionSearch,
  shortHash,
} from "../../rollout/revisions/revisions.ts";
import type { OtherAction } from "../../rollout/writes/actions.ts";
import { newestOfVersion } from "./injection/version.ts";

const DEFAULT_LIMIT = 10;

/** The revision of the present spec. `revisions` are the set's, by number; `taken` is the data of any name's. */
export function findSidecarRevision(
  { metadata, spec, status }: SidecarSet,
  revisions: readonly ControllerRevision[],
  taken: (name: string) => string | undefined,
  memory: PlanMemory,
): RevisionSearch {
  const part = revisedSidecars;
  const data = memory.templateData.of(spec, () => part.data(spec));
  return findRevision(metadata.name ?? "", { data, part }, revisions, status?.collisionCount ?? 0, taken);
}

/** What has to be written so that the revision is the latest one, under the set's custom version. */
export function planRevision(
  { metadata, spec }: SidecarSet,
  { update, write }: RevisionSearch,
  namespace: string,
): OtherAction[] {
  const { name = "", uid = "", labels, annotations } = metadata;
  const version: Labels = spec.customVersion ? { [customVersionLabel]: spec.customVersion } : {};
  if (write === "create") {
    const created = createRevision(update, {
      namespace,
      labels: {
        ...labels,
        [HASH_LABEL]: shortHash(update.name),
        [revisionSidecarSetLabel]: name,
        ...version,
      },
      annotations: { ...annotations },
      ownerReferences: [ownerReference("SidecarSet", name, uid)],
    });
    return [created];
  }
  const { stored } = update;
  if (stored === undefined) return [];
  const isLabelled = Object.entries(version).every(([key, value]) => stored.labels[key] === value);
  if (write === "none" && isLabelled) return [];
  const changed = {
    metadata: { uid: stored.uid, resourceVersion: stored.resourceVersion, labels: version },
    ...(write === "renumber" ? { revision: update.number } : {}),
  };
  return [patchRevision(stored, changed)];
}

/**
 * Beyond the limit, the oldest first; never the newest, one that a pod has, or one that new pods are to get. `used`: names
 * that pods say they have.
 */
export function surplusSidecarRevisions(
  { spec }: SidecarSet,
  revisions: readonly ControllerRevision[],
  latest: string,
  used: () => ReadonlySet<string>,
): ControllerRevision[] {
  const surplus = revisions.length - Math.max(1, spec.revisionHistoryLimit ?? DEFAULT_LIMIT);
  if (surplus <= 0) return [];
  const { revisionName = "", customVersion = "" } = spec.injectionStrategy?.revision ?? {};
  const injected = revisionName || newestOfVersion(revisions, customVersion)?.name;
  const names = used();
  return revisions
    .filter(({ name }) => name !== latest && name !== injected && !names.has(name))
    .slice(0, surplus);
}
