/**
 * How long pods are out of service, as the watch shows it: from the moment a pod is no longer ready, or no longer as its
 * spec says, until it is again; and how much of that passes between its gate's closing and its new image.
 */

import type { PodObject } from "../../sandbox/index.ts";
import type { BudgetChange } from "./budget_check.ts";
import { conditionStatus, imageOf, isBeingUpdated, isReady } from "./pod_state.ts";
import type { Clocks } from "./result.ts";
import { ascending, distributionOf } from "./statistics.ts";

interface Followed {
  image: string;
  /** Since when it is out of service. */
  outSince: number | undefined;
  /** Since when its gate is closed while it has its old image. */
  closedSince: number | undefined;
  /** Of the times that are over. */
  outMs: number;
}

/** Pods that went and never came back under their UID have no time of their own: `BudgetCheck.podSecondsOut` counts them. */
export class ServiceTimes {
  readonly #now: () => number;
  readonly #pods = new Map<string, Followed>();
  readonly #gateToImageMs: number[] = [];

  /** `pods`: as they are when the phase begins. Times are milliseconds of `now`. */
  constructor(now: () => number, pods: Iterable<PodObject>) {
    this.#now = now;
    for (const pod of pods)
      if (isInService(pod)) this.#pods.set(pod.metadata.uid ?? "", followed(imageOf(pod)));
  }

  see({ type, object: pod }: BudgetChange): void {
    const uid = pod.metadata.uid ?? "";
    const known = this.#pods.get(uid);
    if (type === "removed") {
      this.#pods.delete(uid);
      return;
    }
    const inService = isInService(pod);
    if (known === undefined) {
      // A new pod counts once it was in service.
      if (inService) this.#pods.set(uid, followed(imageOf(pod)));
      return;
    }
    const now = this.#now();
    this.#followGate(known, pod, now);
    if (!inService) {
      known.outSince ??= now;
    } else if (known.outSince !== undefined) {
      known.outMs += now - known.outSince;
      known.outSince = undefined;
    }
  }

  /** Of pods that were out and are back, each its whole time; absent where there are none. */
  clocks(): Pick<Clocks, "outOfService" | "gateToImage"> {
    const out = [...this.#pods.values()]
      .filter(({ outMs, outSince }) => outMs > 0 && outSince === undefined)
      .map(({ outMs }) => outMs);
    return {
      ...(out.length === 0 ? {} : { outOfService: distributionOf(ascending(out), "watch") }),
      ...(this.#gateToImageMs.length === 0
        ? {}
        : { gateToImage: distributionOf(ascending(this.#gateToImageMs), "watch") }),
    };
  }

  #followGate(known: Followed, pod: PodObject, now: number): void {
    const image = imageOf(pod);
    if (image !== known.image) {
      known.image = image;
      if (known.closedSince !== undefined) this.#gateToImageMs.push(now - known.closedSince);
      known.closedSince = undefined;
    } else if (conditionStatus(pod, "InPlaceUpdateReady") !== "False") {
      known.closedSince = undefined;
    } else {
      known.closedSince ??= now;
    }
  }
}

function isInService(pod: PodObject): boolean {
  return isReady(pod) && !isBeingUpdated(pod);
}

function followed(image: string): Followed {
  return { image, outSince: undefined, closedSince: undefined, outMs: 0 };
}
