/** Quality of service class of a pod. */
import { isJsonObject } from "./json.ts";
import { isQuantity, parseQuantity } from "./quantity.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

type Amounts = Readonly<Record<string, string | number>> | null | undefined;

interface Resourceful {
  readonly resources?: { readonly limits?: Amounts; readonly requests?: Amounts } | null;
}

export interface QosSpec extends Resourceful {
  readonly containers?: readonly Resourceful[] | null;
  readonly initContainers?: readonly Resourceful[] | null;
}

const counted = ["cpu", "memory"] as const;

/**
 * Guaranteed: every container limits cpu and memory and requests, if it says so, as much in total. BestEffort: none
 * asks for cpu or memory. Requests that are absent count as the limits, as the API server will set them. Resources
 * of the pod as a whole, where set, decide alone.
 */
export function podQos(spec: QosSpec): QosClass {
  const holders = hasAmounts(spec) ? [spec] : [...listed(spec.containers), ...listed(spec.initContainers)];
  const requests = new Map<string, bigint>();
  const limits = new Map<string, bigint>();
  let allLimited = true;
  for (const holder of holders) {
    for (const name of counted) {
      const limit = amount(holder.resources?.limits, name);
      add(requests, name, amount(holder.resources?.requests, name) || limit);
      add(limits, name, limit);
      if (limit === 0n) allLimited = false;
    }
  }
  if (requests.size === 0 && limits.size === 0) return "BestEffort";
  const balanced = counted.every((name) => requests.get(name) === limits.get(name));
  return allLimited && balanced ? "Guaranteed" : "Burstable";
}

/** Templates may be malformed: what is no container is left out. */
function listed(containers: readonly Resourceful[] | null | undefined): readonly Resourceful[] {
  return Array.isArray(containers) ? containers.filter((container) => isJsonObject(container)) : [];
}

function hasAmounts({ resources }: Resourceful): boolean {
  return [resources?.limits, resources?.requests].some((amounts) => Object.keys(amounts ?? {}).length > 0);
}

/** Billionths; 0 for what is absent, not positive or unreadable. */
function amount(amounts: Amounts, name: string): bigint {
  const value = amounts?.[name];
  if (!isQuantity(value)) return 0n;
  const { nano } = parseQuantity(value);
  return nano > 0n ? nano : 0n;
}

function add(totals: Map<string, bigint>, name: string, nano: bigint): void {
  if (nano > 0n) totals.set(name, (totals.get(name) ?? 0n) + nano);
}
