/** Pods that time alone makes available, where a workload has minReadySeconds. */
import type { Pod } from "../../../kube/index.ts";
import type { Decisions } from "../decisions.ts";
import { isAvailable, isReady, untilAvailable } from "./pod_state.ts";
import type { PodView } from "./pod_view.ts";

/** `member`: as it will be after a write in flight. `stored`: as the server shows it. */
export function awaitsMinReady(
  member: { readonly ready: boolean; readonly available: boolean } | undefined,
  stored: Pod | undefined,
  minReadySeconds: number,
  now: number,
): boolean {
  if (minReadySeconds === 0) return false;
  if (member?.ready && !member.available) return true;
  return stored !== undefined && isReady(stored) && !isAvailable(stored, minReadySeconds, now);
}

interface MaturingState {
  readonly strategy: { readonly minReadySeconds: number };
  readonly pods: Pick<
    PodView<
      { readonly awaitingMinReady: Iterable<string> },
      never,
      { readonly member: { readonly pod: Pod } | undefined }
    >,
    "groups" | "entries"
  >;
  readonly now: number;
}

/** When the next ready pod counts as available. */
export function requeueForAvailability({ strategy, pods, now }: MaturingState, decisions: Decisions): void {
  const { minReadySeconds } = strategy;
  if (minReadySeconds === 0) return;
  for (const { member } of pods.entries(pods.groups.awaitingMinReady)) {
    const left = member && untilAvailable(member.pod, minReadySeconds, now);
    if (left !== undefined && left > 0) decisions.requeueAfter(left);
  }
}
