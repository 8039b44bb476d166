/** When a StatefulSet pulls images ahead, and how: only its annotations tell. Spec: statefulset 4.12. */
import { scaledValue } from "../../../kube/core/index.ts";
import { type ImageWait, imageWait, longestWaitMs } from "../../rollout/images/image_wait.ts";
import { planPullJobs } from "../../rollout/images/pre_download.ts";
import type { Pass } from "./pass.ts";

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
    strategy: pass.strategy,
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
  return imageWait(pass, () => hasBegun(pass));
}

/** Enough pods run the new revision for the others' images to be pulled. */
function hasBegun(pass: Pass): boolean {
  const least = pass.seen.set.metadata.annotations?.[LEAST_UPDATED];
  return pass.pods.count("updatedReadyReplicas") >= amountOf(least, pass.strategy.replicas, 0);
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
