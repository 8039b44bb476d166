/** Whether a workload wants a pod of an ordinal. Spec: persistentpodstate 4, rule 7. */
import type { Target } from "./observe.ts";

/** The number after the last `-`; undefined for other names. */
export function ordinalIn(podName: string): number | undefined {
  const digits = podName.slice(podName.lastIndexOf("-") + 1);
  if (!podName.includes("-") || !/^\d{1,15}$/.test(digits)) return undefined;
  return Number(digits);
}

/** Among the first `replicas` ordinals from `start` that are not reserved. Counts ranges, not ordinals. */
export function inWindow(
  ordinal: number,
  { replicas, start, reserved }: Omit<Target, "uid" | "terminating">,
): boolean {
  if (ordinal < start) return false;
  let below = ordinal - start;
  for (const { first, last } of reserved) {
    if (first <= ordinal && ordinal <= last) return false;
    const overlap = Math.min(last, ordinal - 1) - Math.max(first, start) + 1;
    if (overlap > 0) below -= overlap;
  }
  return below < replicas;
}
