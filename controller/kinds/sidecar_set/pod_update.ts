/** What an update in place changes on a pod. Spec: sidecarset, rules 16, 36, 41, 43. */
import {
  formatInjectedSidecars,
  formatSidecarsBeforeUpdate,
  formatWorkingContainers,
  parseInjectedSidecars,
  parseSidecarsBeforeUpdate,
  parseWorkingContainers,
  sidecarInPlaceStateAnnotation,
  sidecarSetHashAnnotation,
  workingHotUpgradeAnnotation,
} from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { timestamp } from "../../rollout/lifecycle/lifecycle.ts";
import type { Reports } from "../../rollout/writes/action_parts.ts";
import type { PodPatchAction } from "../../rollout/writes/actions.ts";
import { patchPod } from "../../rollout/writes/pod_actions.ts";
import type { PodChange } from "../../rollout/writes/pod_patch.ts";
import { isHot, type PairChange, resetPairs, upgradePair } from "./hot_upgrade.ts";
import { patchedAnnotations } from "./injection/pod_metadata.ts";
import type { MetadataPatch } from "./injection/sidecars.ts";
import type { SidecarRollout, SidecarSetMember } from "./rollout.ts";

export interface UpdateTarget {
  readonly rollout: SidecarRollout;
  /** Name of the revision. */
  readonly revision: string;
  /** `resourceVersion` of the set: what the two containers of a pair compare. */
  readonly setVersion: string;
}

/**
 * Annotations that the set's patches change on the pod (rule 16). Throws InjectionError where a value is to be merged as
 * JSON and is none.
 */
export function patchedMetadata(
  { annotations }: Pod,
  patches: readonly MetadataPatch[],
  set: string,
): Record<string, string> {
  const patched = patchedAnnotations(annotations, patches, set);
  return Object.fromEntries(Object.entries(patched).filter(([key, value]) => annotations[key] !== value));
}

/** Brings the pod to the present sidecars in one request. `metadata`: annotations that change beside those of the update. */
export function updateAction(
  member: SidecarSetMember,
  target: UpdateTarget,
  metadata: Readonly<Record<string, string>>,
  now: number,
): PodPatchAction {
  const { pod, working, before } = member;
  const { rollout, revision, setVersion } = target;
  const pairs = rollout.sidecars
    .filter(isHot)
    .flatMap((sidecar) => upgradePair(pod, sidecar, working, before, setVersion) ?? []);
  const single = rollout.sidecars
    .filter(({ name, image, pair }) => pair === undefined && image !== imageOf(pod, name))
    .map(({ name, image }) => [name, image] as const);
  const images = Object.assign(Object.fromEntries(single), ...pairs.map((pair) => pair.images));
  const entries = parseInjectedSidecars(pod.annotations[sidecarSetHashAnnotation]) ?? new Map();
  entries.set(rollout.name, {
    updateTimestamp: timestamp(now),
    hash: rollout.hash,
    sidecarSetName: rollout.name,
    sidecarList: rollout.sidecarList,
    controllerRevision: revision,
  });
  const annotations = {
    ...metadata,
    ...pairAnnotations(pod, pairs),
    ...stateAnnotation(pod, rollout, Object.keys(images), now),
    [sidecarSetHashAnnotation]: formatInjectedSidecars(entries),
  };
  return updatePod(pod, { annotations, images }, now);
}

/** Puts those containers to rest that have handed over. */
export function resetAction(member: SidecarSetMember, rollout: SidecarRollout, now: number): PodPatchAction {
  const { pod, working, before } = member;
  const pairs = resetPairs(pod, rollout.sidecars, working, before);
  const images = Object.assign({}, ...pairs.map((pair) => pair.images));
  const annotations = {
    ...pairAnnotations(pod, pairs),
    ...stateAnnotation(pod, rollout, Object.keys(images), now),
  };
  return updatePod(pod, { annotations, images }, now, {
    succeeded: {
      reason: "ResetContainerSucceed",
      message: "reset sidecar container image empty successfully",
    },
    failed: { reason: "ResetContainerFailed", message: "reset sidecar container image empty failed" },
    about: pod,
  });
}

/** Refused when the pod is another than the one that was seen, because then the next plan decides. */
function updatePod(pod: Pod, change: PodChange, now: number, reports: Reports = {}): PodPatchAction {
  const disrupts = Object.keys(change.images ?? {}).length > 0;
  return patchPod(pod, change, now, "update", { disrupts, ...reports });
}

function imageOf(pod: Pod, container: string): string | undefined {
  return pod.containers.find(({ name }) => name === container)?.image;
}

function pairAnnotations(pod: Pod, pairs: readonly PairChange[]): Record<string, string> {
  if (pairs.length === 0) return {};
  const working = parseWorkingContainers(pod.annotations[workingHotUpgradeAnnotation]) ?? new Map();
  for (const pair of pairs) working.set(pair.sidecar, pair.working);
  return Object.assign(
    { [workingHotUpgradeAnnotation]: formatWorkingContainers(working) },
    ...pairs.map((pair) => pair.annotations),
  );
}

/** What runs now in the containers that change. Revision and time stay those of the first update, as the API has it. */
function stateAnnotation(
  pod: Pod,
  { name, hash }: SidecarRollout,
  changed: readonly string[],
  now: number,
): Record<string, string> {
  if (changed.length === 0) return {};
  const states = parseSidecarsBeforeUpdate(pod.annotations[sidecarInPlaceStateAnnotation]) ?? new Map();
  const state = states.get(name) ?? { revision: hash, updateTimestamp: timestamp(now) };
  const statuses = new Map(state.lastContainerStatuses);
  for (const { name: container, imageID } of pod.containerStatuses)
    if (changed.includes(container)) statuses.set(container, { imageID });
  states.set(name, { ...state, lastContainerStatuses: statuses });
  return { [sidecarInPlaceStateAnnotation]: formatSidecarsBeforeUpdate(states) };
}
