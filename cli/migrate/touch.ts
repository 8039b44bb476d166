/** What a plan does to pods that exist. */
import type { Action } from "../../controller/index.ts";
import { keyOf } from "../../kube/core/index.ts";

export interface Touch {
  /** `namespace/name`. */
  readonly pod: string;
  /** Whether it is replaced, its containers change, or only its metadata and conditions do. */
  readonly effect: "deleted" | "updated" | "patched";
}

const severity = { deleted: 2, updated: 1, patched: 0 } as const;

/** Each pod once, with the gravest effect, by name. */
export function touchesOf(actions: readonly Action[]): Touch[] {
  const gravest = new Map<string, Touch["effect"]>();
  for (const action of actions) {
    const effect = effectOf(action);
    if (effect === undefined || !("pod" in action)) continue;
    const pod = keyOf(action.pod);
    const before = gravest.get(pod);
    if (before === undefined || severity[before] < severity[effect]) gravest.set(pod, effect);
  }
  return [...gravest]
    .map(([pod, effect]) => ({ pod, effect }))
    .sort((a, b) => (a.pod < b.pod ? -1 : a.pod > b.pod ? 1 : 0));
}

function effectOf(action: Action): Touch["effect"] | undefined {
  if (action.type === "delete pod") return "deleted";
  if (action.type !== "patch pod") return undefined;
  const { pod, after, begins } = action;
  const images = new Map(pod.containers.map(({ name, image }) => [name, image]));
  const changes = after.containers.some(({ name, image }) => images.get(name) !== image);
  return changes || begins ? "updated" : "patched";
}

/** Restarts are what must not happen: patches of metadata and conditions restart nothing. */
export function restarts({ effect }: Touch): boolean {
  return effect !== "patched";
}
