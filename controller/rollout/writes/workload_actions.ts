/** Actions on the workload itself. Pure. */
import type { ObjectBody } from "../../plan/effects.ts";
import type { OtherAction } from "./actions.ts";

/** Merge patch of its own spec. */
export function patchWorkload(name: string, body: ObjectBody): OtherAction {
  const effects = [{ type: "patch object", body, priority: "high" }] as const;
  return { type: "patch workload", id: "workload", lane: "at once", name, effects };
}

/** It is over and has outlived its time. */
export function deleteWorkload(name: string): OtherAction {
  const effects = [{ type: "delete object", priority: "high" }] as const;
  return { type: "delete workload", id: "workload", lane: "at once", name, effects };
}
