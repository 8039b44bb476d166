/** Whether a workload wants a pod of an ordinal. Spec: persistentpodstate 4, rule 7. */
import { Window } from "../../rollout/pods/ordinals.ts";
import type { Target } from "./observe.ts";

/** The number after the last `-`; undefined for other names. */
export function ordinalIn(podName: string): number | undefined {
  const digits = podName.slice(podName.lastIndexOf("-") + 1);
  if (!podName.includes("-") || !/^\d{1,15}$/.test(digits)) return undefined;
  return Number(digits);
}

/** Among the first `replicas` ordinals from `start` that are not reserved. */
export function inWindow(
  ordinal: number,
  { replicas, start, reserved }: Omit<Target, "uid" | "terminating">,
): boolean {
  return new Window(start, replicas, reserved).has(ordinal);
}
