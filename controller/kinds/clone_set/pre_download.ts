/** When a CloneSet pulls images ahead, and how. Spec: cloneset 4.9. */

import { type ImageWait, imageWait, longestWaitMs } from "../../rollout/images/image_wait.ts";
import { planPullJobs } from "../../rollout/images/pre_download.ts";
import type { Action } from "../../rollout/writes/actions.ts";
import type { Pass } from "./pass.ts";

export function planPreDownload(pass: Pass): Action[] {
  const { seen, namespace, name, uid } = pass;
  if (seen.pullJobs === undefined) return [];
  const settings = inPlaceStrategy(pass);
  const { policy, onDelete, limits } = pass.strategy;
  const { template, selector } = seen.set.spec;
  return planPullJobs({
    owner: { kind: "CloneSet", name, namespace, uid },
    template,
    selector,
    update: pass.update,
    current: pass.current,
    jobs: seen.pullJobs,
    strategy: { policy, onDelete, ...limits },
    begun: () => hasBegun(pass),
    parallelism: settings["imagePreDownloadParallelism"] ?? 1,
    timeoutSeconds: settings["imagePreDownloadTimeoutSeconds"] ?? 300,
    waits: longestWaitMs(seen.set.metadata.annotations) !== undefined,
    change: pass.options,
  });
}

/** Who waits for an image; undefined where the set does not ask for it. */
export function imageWaitOf(pass: Pass): ImageWait | undefined {
  return imageWait(pass, () => hasBegun(pass));
}

/** Enough pods run the new revision for the others' images to be pulled. */
function hasBegun(pass: Pass): boolean {
  const least = inPlaceStrategy(pass)["imagePreDownloadMinUpdatedReadyPods"];
  return pass.pods.count("updatedReadyReplicas") >= (typeof least === "number" ? least : 0);
}

function inPlaceStrategy(pass: Pass) {
  return pass.seen.set.spec.updateStrategy?.rollingUpdate?.inPlaceUpdateStrategy ?? {};
}
