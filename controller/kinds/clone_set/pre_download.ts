/** When a CloneSet pulls images ahead, and how. Spec: cloneset 4.9. */

import type { Decisions } from "../../rollout/decisions.ts";
import { type ImageWait, imageWait, longestWaitMs } from "../../rollout/images/image_wait.ts";
import { planPullJobs } from "../../rollout/images/pre_download.ts";
import { DEFAULT_MAX_UNAVAILABLE, scaled } from "./numbers.ts";
import type { CloneSetState } from "./state.ts";

export function planPreDownload(state: CloneSetState, decisions: Decisions): void {
  const { observed, namespace, name, uid } = state;
  if (observed.pullJobs === undefined) return;
  const settings = inPlaceStrategy(state);
  const { policy, onDelete, limits } = state.strategy;
  const { template, selector, updateStrategy } = observed.set.spec;
  const maxUnavailable = updateStrategy?.rollingUpdate?.maxUnavailable ?? DEFAULT_MAX_UNAVAILABLE;
  const actions = planPullJobs({
    owner: { kind: "CloneSet", name, namespace, uid },
    template,
    selector,
    update: state.update,
    current: state.current,
    jobs: observed.pullJobs,
    // Rounded down, whatever the surge is (rule 59).
    strategy: { policy, onDelete, ...limits, maxUnavailable: scaled(maxUnavailable, limits.replicas, false) },
    begun: () => hasBegun(state),
    parallelism: settings["imagePreDownloadParallelism"] ?? 1,
    timeoutSeconds: settings["imagePreDownloadTimeoutSeconds"] ?? 300,
    waits: longestWaitMs(observed.set.metadata.annotations) !== undefined,
    change: state.options,
  });
  decisions.takeAll(actions);
}

/** Who waits for an image; undefined where the set does not ask for it. */
export function imageWaitOf(state: CloneSetState): ImageWait | undefined {
  return imageWait(state, () => hasBegun(state));
}

/** Enough pods run the new revision for the others' images to be pulled. */
function hasBegun(state: CloneSetState): boolean {
  const least = inPlaceStrategy(state)["imagePreDownloadMinUpdatedReadyPods"];
  return state.pods.count("updatedReadyReplicas") >= (typeof least === "number" ? least : 0);
}

function inPlaceStrategy(state: CloneSetState) {
  return state.observed.set.spec.updateStrategy?.rollingUpdate?.inPlaceUpdateStrategy ?? {};
}
