/** Whether a new pod gets the present sidecars of a set or those of a revision. Spec: sidecarset 12, 13. */
import {
  customVersionLabel,
  type RevisionChoice,
  revisionSidecarSetLabel,
  type SidecarSetSpec,
} from "../../../../crds/index.ts";
import type { Labels } from "../../../../kube/core/index.ts";
import type { ControllerRevision, Random } from "../../../../kube/index.ts";
import type { CompiledSidecarSet } from "./matching.ts";
import { InjectionError, type PreparedSidecars, type Sidecars } from "./sidecars.ts";

/** The revisions in the namespace of this program. */
export interface RevisionSource {
  named(name: string): ControllerRevision | undefined;
  /** Those labelled with the set's name. */
  ofSet(set: string): Iterable<ControllerRevision>;
}

/** Throws InjectionError for a malformed set, and where a revision is wanted that does not exist. */
export function sidecarsFor(
  compiled: CompiledSidecarSet,
  podLabels: Labels,
  { revisions, prepared }: { revisions: RevisionSource; prepared: PreparedSidecars },
  random: Random,
): Sidecars {
  if (compiled.problem !== undefined)
    throw new InjectionError(`the stored object is malformed: ${compiled.problem}`, compiled.name);
  const revision = pinnedRevision(compiled, revisions);
  if (revision === undefined || !getsRevision(compiled, podLabels, random))
    return prepared.ofSet(compiled.set);
  return prepared.ofRevision(compiled.name, revision);
}

function pinnedRevision(
  { name, set }: CompiledSidecarSet,
  revisions: RevisionSource,
): ControllerRevision | undefined {
  const pinned = set.spec.injectionStrategy?.revision;
  if (pinned === undefined || pinned === null) return undefined;
  const { revisionName = "", customVersion = "" } = pinned;
  const found =
    revisionName === ""
      ? newestOfVersion(revisions.ofSet(name), customVersion)
      : revisions.named(revisionName);
  if (found !== undefined) return found;
  throw new InjectionError(notFound(pinned), name);
}

/**
 * Why new pods are refused while no revision is the one that `injectionStrategy` names; undefined where one is, or none is
 * named. `ofSet`: the set's revisions. `exists`: whether any revision has a name. Spec: sidecarset 13.
 */
export function missingRevision(
  { injectionStrategy }: SidecarSetSpec,
  { ofSet, exists }: { ofSet: Iterable<ControllerRevision>; exists(name: string): boolean },
): string | undefined {
  const pinned = injectionStrategy?.revision;
  if (pinned === undefined || pinned === null || injectionStrategy?.paused) return undefined;
  const { revisionName = "", customVersion = "" } = pinned;
  const isFound =
    revisionName === "" ? newestOfVersion(ofSet, customVersion) !== undefined : exists(revisionName);
  return isFound ? undefined : notFound(pinned);
}

function notFound({ revisionName = "", customVersion = "" }: RevisionChoice): string {
  const wanted = revisionName === "" ? `custom version ${customVersion}` : `name ${revisionName}`;
  return `the ControllerRevision to inject is not found: none has ${wanted}`;
}

/** None has the empty version. */
export function newestOfVersion(
  revisions: Iterable<ControllerRevision>,
  version: string,
): ControllerRevision | undefined {
  let newest: ControllerRevision | undefined;
  for (const revision of revisions) {
    if (version === "" || revision.labels[customVersionLabel] !== version) continue;
    if (newest === undefined || revision.revision > newest.revision) newest = revision;
  }
  return newest;
}

/** Of a set that pins a revision. */
function getsRevision(
  { set, updateSelector }: CompiledSidecarSet,
  podLabels: Labels,
  random: Random,
): boolean {
  const { injectionStrategy, updateStrategy = {} } = set.spec;
  if (updateStrategy.paused || injectionStrategy?.revision?.policy !== "Partial") return true;
  if (updateSelector !== undefined && !updateSelector.matches(podLabels)) return true;
  // A number says how many pods are left at the revision, not which: a single pod cannot be held against it.
  const { partition } = updateStrategy;
  const share = typeof partition === "string" ? /^(\d{1,3})%$/.exec(partition)?.[1] : undefined;
  return share !== undefined && random() * 100 < Number(share);
}

/** For an index of revisions by the set that they are of. */
export function setsOfRevision({ labels }: ControllerRevision): readonly string[] {
  const set = labels[revisionSidecarSetLabel];
  return set === undefined ? [] : [set];
}
