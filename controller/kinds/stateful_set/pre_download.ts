/** When a StatefulSet pulls images ahead, and how: only its annotations tell. Spec: statefulset 4.12. */
import type { Decisions } from "../../rollout/decisions.ts";
import { type ImageWait, imageWait, longestWaitMs } from "../../rollout/images/image_wait.ts";
import { integerOf, planPullJobs } from "../../rollout/images/pre_download.ts";
import { amountOf } from "../../rollout/order/amounts.ts";
import type { StatefulSetState } from "./state.ts";

const PARALLELISM = "apps.kruise.io/image-predownload-parallelism";
const TIMEOUT = "apps.kruise.io/image-predownload-timeout-seconds";
const LEAST_UPDATED = "apps.kruise.io/image-predownload-min-updated-ready-pods";

export function planPreDownload(state: StatefulSetState, decisions: Decisions): void {
  const { observed, namespace, name, uid } = state;
  if (observed.pullJobs === undefined) return;
  const annotations = observed.set.metadata.annotations ?? {};
  const { template, selector } = observed.set.spec;
  const actions = planPullJobs({
    owner: { kind: "StatefulSet", name, namespace, uid },
    template,
    selector,
    update: state.update,
    current: state.current,
    jobs: observed.pullJobs,
    strategy: state.strategy,
    begun: () => hasBegun(state),
    // A job takes no percentage.
    parallelism: numberIn(annotations[PARALLELISM], state.strategy.replicas) ?? 1,
    timeoutSeconds: integerOf(annotations[TIMEOUT]) ?? 300,
    waits: longestWaitMs(annotations) !== undefined,
    change: state.options,
  });
  decisions.takeAll(actions);
}

/** Who waits for an image; undefined where the set does not ask for it. */
export function imageWaitOf(state: StatefulSetState): ImageWait | undefined {
  return imageWait(state, () => hasBegun(state));
}

/** Enough pods run the new revision for the others' images to be pulled. */
function hasBegun(state: StatefulSetState): boolean {
  const least = state.observed.set.metadata.annotations?.[LEAST_UPDATED];
  return state.pods.count("updatedReadyReplicas") >= (numberIn(least, state.strategy.replicas) ?? 0);
}

/** A number or a percentage of `total`, rounded up; undefined for text that is neither. */
function numberIn(text: string | undefined, total: number): number | undefined {
  return integerOf(text) ?? amountOf(text, total, true);
}
