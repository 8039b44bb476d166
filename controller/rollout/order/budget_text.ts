/** What uses up `maxUnavailable`, in words for people. Pure. */
import { counted } from "../../../kube/core/index.ts";

/** `unavailable` pods are out now, `next` more are taken out by the same plan. */
export function budgetText(maxUnavailable: number, unavailable: number, next: number): string {
  const uses = [
    ...(unavailable > 0 ? [counted(unavailable, "pod is unavailable", "pods are unavailable")] : []),
    ...(next > 0 ? [counted(next, "more pod is taken out now", "more pods are taken out now")] : []),
  ];
  const limit = `maxUnavailable is ${maxUnavailable}`;
  return uses.length === 0 ? limit : `${limit} and ${uses.join(", ")}`;
}
