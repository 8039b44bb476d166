/** What a pod needs in total. */
import type { JsonObject } from "../json.ts";
import { formatQuantity, isQuantity, parseQuantity, type Quantity } from "../quantity.ts";
import { objectAt, objectsAt, textAt } from "./fields.ts";

type Totals = Map<string, Quantity>;

/**
 * Requests or limits of all containers of a pod spec, by resource: the sum of what runs together, or what the
 * greediest moment of the initialisation needs if that is more.
 */
export function aggregateResources(spec: JsonObject, list: "requests" | "limits"): Record<string, string> {
  const running: Totals = new Map();
  const sidecars: Totals = new Map();
  const initial: Totals = new Map();
  for (const [container] of objectsAt(spec, "containers")) add(running, amountsOf(container, list));
  for (const [container] of objectsAt(spec, "initContainers")) {
    const own = amountsOf(container, list);
    if (textAt(container, "restartPolicy") === "Always") {
      add(running, own);
      add(sidecars, own);
      raise(initial, sidecars);
    } else {
      add(own, sidecars);
      raise(initial, own);
    }
  }
  raise(running, initial);
  return Object.fromEntries([...running].map(([name, quantity]) => [name, formatQuantity(quantity)]));
}

function amountsOf(container: JsonObject, list: string): Totals {
  const amounts: Totals = new Map();
  for (const [name, value] of Object.entries(objectAt(objectAt(container, "resources"), list) ?? {})) {
    if (isQuantity(value)) amounts.set(name, parseQuantity(value));
  }
  return amounts;
}

function add(totals: Totals, amounts: Totals): void {
  for (const [name, { nano, format }] of amounts) {
    const present = totals.get(name);
    totals.set(name, { nano: nano + (present?.nano ?? 0n), format: present?.format ?? format });
  }
}

function raise(totals: Totals, amounts: Totals): void {
  for (const [name, quantity] of amounts) {
    const present = totals.get(name);
    if (present === undefined || present.nano < quantity.nano) totals.set(name, quantity);
  }
}
