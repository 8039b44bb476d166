/** When a CloneSet pulls images ahead, and how. Spec: cloneset 4.9. */
import type { Action } from "../rollout/actions.ts";
import { type ImageWait, imageWait, longestWaitMs } from "../rollout/image_wait.ts";
import { isActive, isReady } from "../rollout/pod_state.ts";
import { planPullJobs } from "../rollout/pre_download.ts";
import { sameRevision } from "../rollout/revisions.ts";
import { REVISION_LABEL } from "./observe.ts";
import type { Pass } from "./plan.ts";

/** Below this many replicas pulling ahead is not worth a job (rule 59). */
const FEW_REPLICAS = 3;

export function planPreDownload(pass: Pass): Action[] {
  const { seen, namespace, name, uid } = pass;
  if (seen.pullJobs === undefined) return [];
  const settings = inPlaceStrategy(pass);
  const { template, selector } = seen.set.spec;
  return planPullJobs({
    owner: { kind: "CloneSet", name, namespace, uid },
    template,
    selector,
    update: pass.update,
    current: pass.current,
    jobs: seen.pullJobs,
    worthwhile: worthwhile(pass),
    begun: () => hasBegun(pass),
    parallelism: settings["imagePreDownloadParallelism"] ?? 1,
    timeoutSeconds: settings["imagePreDownloadTimeoutSeconds"] ?? 300,
    waits: longestWaitMs(seen.set.metadata.annotations) !== undefined,
    change: pass.options,
  });
}

/** Who waits for an image; undefined where the set does not ask for it. */
export function imageWaitOf(pass: Pass): ImageWait | undefined {
  const { seen, update, now } = pass;
  return imageWait({
    annotations: seen.set.metadata.annotations,
    jobs: seen.pullJobs,
    nodeImage: (node) => seen.nodeImage?.(node),
    update,
    begun: () => hasBegun(pass),
    now,
  });
}

/** Enough pods run the new revision for the others' images to be pulled. */
function hasBegun(pass: Pass): boolean {
  const least = inPlaceStrategy(pass)["imagePreDownloadMinUpdatedReadyPods"];
  return updatedReady(pass) >= (typeof least === "number" ? least : 0);
}

function worthwhile(pass: Pass): boolean {
  const { policy, onDelete, limits } = pass.strategy;
  if (policy === "ReCreate" || onDelete || limits.replicas <= FEW_REPLICAS) return false;
  return limits.partition > 0 || limits.maxUnavailable < limits.replicas;
}

function updatedReady(pass: Pass): number {
  return pass.seen.stored.filter(
    (pod) =>
      isActive(pod) && isReady(pod) && sameRevision(pod.labels[REVISION_LABEL] ?? "", pass.update.name),
  ).length;
}

function inPlaceStrategy(pass: Pass) {
  return pass.seen.set.spec.updateStrategy?.rollingUpdate?.inPlaceUpdateStrategy ?? {};
}
