import { type IntOrString, scaledValue } from "../../../kube/core/index.ts";

/** A number, or a percentage of `total`. Undefined when unset, and for text that is neither: older objects may hold it. */
export function amountOf(
  value: IntOrString | undefined | null,
  total: number,
  roundUp: boolean,
): number | undefined {
  try {
    return scaledValue(value, total, roundUp);
  } catch {
    return undefined;
  }
}
