/** From what was read to why something does not get on. Pure; never throws, whatever the objects hold. */
import type { Cause } from "./cause.ts";
import type { Facts } from "./facts.ts";
import { podCauses } from "./pod_reasons.ts";
import { remainingCauses, subjectCauses } from "./subject_reasons.ts";

export interface Causes {
  /** What lies deepest: its controller, the server, the object itself. */
  readonly first: readonly Cause[];
  readonly pods: readonly Cause[];
  /** What the others do not mention. */
  readonly last: readonly Cause[];
}

export function causesOf(facts: Facts): Causes {
  return { first: subjectCauses(facts), pods: podCauses(facts), last: remainingCauses(facts) };
}
