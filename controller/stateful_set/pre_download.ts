/** When a StatefulSet pulls images ahead, and how: only its annotations tell. Spec: statefulset 4.12. */
import { scaledValue } from "../../kube/core/index.ts";
import { type ImageWait, imageWait, longestWaitMs } from "../rollout/image_wait.ts";
import { isReady } from "../rollout/pod_state.ts";
import { planPullJobs } from "../rollout/pre_download.ts";
import { REVISION_LABEL } from "./observe.ts";
import type { Pass } from "./pass.ts";

/** Below this many replicas pulling ahead is not worth a job. */
const FEW_REPLICAS = 3;
const PARALLELISM = "apps.kruise.io/image-predownload-parallelism";
const TIMEOUT = "apps.kruise.io/image-predownload-timeout-seconds";
const LEAST_UPDATED = "apps.kruise.io/image-predownload-min-updated-ready-pods";

export function planImages(pass: Pass): void {
  const { seen, namespace, name, uid } = pass;
  if (seen.pullJobs === undefined) return;
  const annotations = seen.set.metadata.annotations ?? {};
  const { template, selector } = seen.set.spec;
  const actions = planPullJobs({
    owner: { kind: "StatefulSet", name, namespace, uid },
    template,
    selector,
    update: pass.update,
    current: pass.current,
    jobs: seen.pullJobs,
    worthwhile: worthwhile(pass),
    begun: () => hasBegun(pass),
    // A job takes no percentage.
    parallelism: amountOf(annotations[PARALLELISM], pass.strategy.replicas, 1),
    timeoutSeconds: amountOf(annotations[TIMEOUT], 0, 300),
    waits: longestWaitMs(annotations) !== undefined,
    change: pass.options,
  });
  for (const action of actions) pass.decided.take(action);
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
  const least = pass.seen.set.metadata.annotations?.[LEAST_UPDATED];
  return updatedReady(pass) >= amountOf(least, pass.strategy.replicas, 0);
}

function worthwhile(pass: Pass): boolean {
  const { policy, onDelete, replicas, partition, maxUnavailable } = pass.strategy;
  if (policy === "ReCreate" || onDelete || replicas <= FEW_REPLICAS) return false;
  return partition > 0 || maxUnavailable < replicas;
}

function updatedReady(pass: Pass): number {
  return pass.seen.stored.filter((pod) => isReady(pod) && pod.labels[REVISION_LABEL] === pass.update.name)
    .length;
}

/** A number or a percentage of `total`, rounded up; `otherwise` for text that is neither. */
function amountOf(text: string | undefined, total: number, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (/^\d+$/.test(text)) return Number(text);
  try {
    return scaledValue(text, total, true);
  } catch {
    return otherwise;
  }
}
