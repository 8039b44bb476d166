/** What a number or percentage of a subset amounts to. Spec: uniteddeployment rule 15. */
import type { IntOrString } from "../../kube/core/index.ts";

/** An integer as it is, a percentage of the total rounded half up; undefined for what admission refuses, and for nothing. */
export function shareOf(value: IntOrString | null | undefined, total: number): number | undefined {
  if (typeof value === "number") return Math.max(0, Math.trunc(value));
  if (typeof value !== "string" || !/^\+?\d{1,9}%$/.test(value)) return undefined;
  // Half a pod is added in hundredths: binary fractions would round some halves down.
  return Math.floor((total * Number(value.slice(0, -1)) + 50) / 100);
}
