/** Pods as they will be once the writes in flight are done. */
import type { Pod } from "../../../kube/index.ts";
import { CREATING, type PendingPods } from "./pending_pods.ts";

export function overlay(stored: readonly Pod[], inFlight: PendingPods): readonly Pod[] {
  if (inFlight.size === 0) return stored;
  const pods: Pod[] = [];
  for (const pod of stored) pods.push(inFlight.get(pod.uid) ?? pod);
  let names: Set<string> | undefined;
  for (const [id, pod] of inFlight) {
    // A pod that went while its deletion is under way stays in sight: its claims follow it, and until they are
    // marked, nobody may take them for claims of a vanished pod (cloneset rules 18, 19).
    if (!id.startsWith(CREATING) && pod.deletionAt === undefined) continue;
    names ??= new Set(stored.map((one) => one.name));
    if (!names.has(pod.name)) pods.push(pod);
  }
  return pods;
}
